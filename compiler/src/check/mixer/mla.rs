//! Latent attention: its softmax scale is over the dimensions before any absorption.

use std::ops::Range;

use super::{cache, rope};
use crate::check::{size, suggest};
use crate::diagnostic::{Diagnostic, Diagnostics, Id, quoted};
use crate::expr::{BinaryOp, Expr, ExprKind, Function};
use crate::model::{CheckpointFormat, Mla, Scale};
use crate::source::Spanned;
use crate::spec::{MlaSpec, ModelSpec, RopeScalingSpec, YarnSpec};

/// The dimensions in which queries meet keys.
const UNABSORBED: &str = "rsqrt(qk_nope_head_dim + qk_rope_head_dim)";
/// The further factor of a yarn that states `mscale_all_dim`.
const MSCALE: &str = "yarn_mscale(factor, mscale_all_dim)^2";

/// Checks an attention that `layers` layers use.
pub(super) fn check(spec: &ModelSpec, mla: &MlaSpec, layers: usize, diags: &mut Diagnostics) -> Option<Mla> {
    let before = diags.len();
    let scale = scale(spec, mla, diags);
    let rotation = rope::of_latent(spec, &mla.rope, &mla.qk_rope_head_dim, diags);
    let kv = cache::check(&mla.kv_cache_dtype, mla.kv_cache_layers.as_ref(), layers, diags);
    if diags.len() != before {
        return None;
    }
    Some(Mla {
        heads: size(&mla.num_attention_heads),
        q_lora_rank: mla.q_lora_rank.value.as_ref().map(size),
        kv_lora_rank: size(&mla.kv_lora_rank),
        nope: size(&mla.qk_nope_head_dim),
        rope_dim: size(&mla.qk_rope_head_dim),
        v_head_dim: size(&mla.v_head_dim),
        latent_norm_eps: mla.latent_rms_norm_eps.value,
        bias: *mla.attention_bias,
        scale: scale?,
        query_scale: rope::query_scale(&mla.rope),
        kv: kv?,
        rope: rotation?,
    })
}

fn scale(spec: &ModelSpec, mla: &MlaSpec, diags: &mut Diagnostics) -> Option<Scale> {
    let stated = Stated { spec, mla, expr: &mla.softmax_scale };
    match stated.scale() {
        Ok(scale) => Some(scale),
        Err(diagnostic) => {
            diags.push(*diagnostic);
            None
        }
    }
}

/// What the spec states, and where.
struct Stated<'s> {
    spec: &'s ModelSpec,
    mla: &'s MlaSpec,
    expr: &'s Spanned<Expr>,
}

type Refused<T> = Result<T, Box<Diagnostic>>;

impl<'s> Stated<'s> {
    fn scale(&self) -> Refused<Scale> {
        self.unknown_names()?;
        self.absorbed()?;
        // The dimensions first: what follows them may be right or wrong for reasons of its own.
        let (root, factor) = match &self.expr.value.kind {
            ExprKind::Binary(BinaryOp::Mul, a, b) => (&**a, Some(&**b)),
            _ => (&self.expr.value, None),
        };
        let dims = self.dims(root)?;
        if let Some(factor) = factor.filter(|factor| !is_mscale(factor)) {
            return Err(Box::new(
                Diagnostic::new(Id::SoftmaxScale, "the softmax scale has a factor of its own")
                    .label(&self.expr.span.at(factor.range.clone()), format!("the only one there can be is `{MSCALE}`"))
                    .note("yarn scales queries and keys alike, so that scores have the square of its mscale")
                    .help(if self.applied().is_some() { "write that factor" } else { "leave the factor out" })
                    .patch(&self.expr.span, format!("\"{}\"", self.formula())),
            ));
        }
        let mscale = self.mscale(factor)?;
        let further = mscale.map_or(1.0, |(factor, m)| rope::mscale_of(factor, m).powi(2));
        Ok(Scale {
            formula: self.expr.value.to_string(),
            dims: dims as usize,
            mscale,
            value: (further / (dims as f64).sqrt()) as f32,
        })
    }

    /// The dimensions that an expression may name.
    fn dimensions(&self) -> [(&'static str, &'s Spanned<u64>); 6] {
        let mla = self.mla;
        [
            ("qk_nope_head_dim", &mla.qk_nope_head_dim),
            ("qk_rope_head_dim", &mla.qk_rope_head_dim),
            ("v_head_dim", &mla.v_head_dim),
            ("kv_lora_rank", &mla.kv_lora_rank),
            ("num_attention_heads", &mla.num_attention_heads),
            ("hidden_size", &self.spec.model.hidden_size),
        ]
    }

    fn value_of(&self, name: &str) -> Option<u64> {
        self.dimensions().iter().find(|(n, _)| *n == name).map(|(_, v)| v.value)
    }

    fn yarn(&self) -> Option<&'s YarnSpec> {
        match &self.mla.rope.scaling.value {
            RopeScalingSpec::Yarn(yarn) => Some(yarn),
            _ => None,
        }
    }

    /// The whole formula that is right here.
    fn formula(&self) -> String {
        if self.applied().is_some() { format!("{UNABSORBED} * {MSCALE}") } else { UNABSORBED.to_owned() }
    }

    fn unknown_names(&self) -> Refused<()> {
        let mut known: Vec<&str> = self.dimensions().iter().map(|(name, _)| *name).collect();
        let of_yarn = ["factor", "mscale_all_dim"];
        known.extend(self.yarn().is_some().then_some(of_yarn).into_iter().flatten());
        let unknown = self.expr.value.uses().into_iter().find(|(name, _)| !known.contains(name));
        let Some((name, range)) = unknown else { return Ok(()) };
        let place = self.expr.span.at(range);
        let diagnostic = Diagnostic::new(Id::UnknownDim, format!("`{name}` is not a dimension of this attention"));
        if of_yarn.contains(&name) {
            let diagnostic = diagnostic
                .label(&place, "a key of yarn")
                .context(&self.mla.rope.scaling.span, "this rotation is not yarn")
                .help("without yarn the scale is that of the dimensions alone")
                .patch(&self.expr.span, format!("\"{UNABSORBED}\""));
            return Err(Box::new(diagnostic));
        }
        let diagnostic = diagnostic.label(&place, "");
        Err(Box::new(suggest(diagnostic, name, &known, &place, || {
            format!("there are {}; the scale of `mla` is `{UNABSORBED}`", quoted(known.iter().copied()))
        })))
    }

    /// A scale over the latent is the most costly mistake there is here: the text stays fluent.
    fn absorbed(&self) -> Refused<()> {
        let uses = self.expr.value.uses();
        let Some((_, range)) = uses.into_iter().find(|(name, _)| *name == "kv_lora_rank") else { return Ok(()) };
        let MlaSpec { kv_lora_rank, qk_nope_head_dim: nope, qk_rope_head_dim: rope, .. } = self.mla;
        let sum = |a: u64, b: u64| format!("{a} + {b} = {}", a + b);
        let label = match self.expr.value.names().contains(&"qk_rope_head_dim") {
            true => format!("{}: the space of absorbed scores", sum(kv_lora_rank.value, rope.value)),
            false => format!("{} dimensions: the space of the latent", kv_lora_rank.value),
        };
        let diagnostic = Diagnostic::new(Id::SoftmaxScaleAbsorbed, "the softmax scale is taken over the latent dimension")
            .label(&self.expr.span.at(range), label)
            .context(&nope.key, format!("queries and keys meet in {} dimensions", sum(nope.value, rope.value)))
            .note("absorbing kv_b_proj into the query does not change a score, so the scale does not change either")
            .help("write the dimensions before absorption")
            .patch(&self.expr.span, format!("\"{}\"", self.formula()));
        Err(Box::new(diagnostic))
    }

    /// The dimensions under the root: exactly those in which queries meet keys, by name and not by chance.
    fn dims(&self, root: &Expr) -> Refused<u64> {
        let (nope, rope) = (self.mla.qk_nope_head_dim.value, self.mla.qk_rope_head_dim.value);
        let Some(argument) = root.argument_of("rsqrt") else {
            let why = if root.names().is_empty() { "a number does not say where it comes from" } else { "another form" };
            return Err(self.refuse("the softmax scale is not `rsqrt` of a dimension", why.to_owned(), root.range.clone()));
        };
        let message = "the softmax scale is not taken over qk_nope_head_dim + qk_rope_head_dim";
        let dims = argument.eval_u64(&|name: &str| self.value_of(name));
        let dims = dims.map_err(|e| self.refuse(message, e.to_string(), e.range))?;
        if dims != nope + rope {
            return Err(self.refuse(message, format!("this is {dims}"), argument.range.clone()));
        }
        let mut names = argument.names();
        names.sort_unstable();
        if names != ["qk_nope_head_dim", "qk_rope_head_dim"] {
            let label = format!("{dims} as well, but only by chance");
            return Err(self.refuse(message, label, argument.range.clone()));
        }
        Ok(dims)
    }

    fn refuse(&self, message: &str, label: String, range: Range<usize>) -> Box<Diagnostic> {
        let (nope, rope) = (&self.mla.qk_nope_head_dim, &self.mla.qk_rope_head_dim);
        let (nope_dim, rope_dim) = (nope.value, rope.value);
        Box::new(
            Diagnostic::new(Id::SoftmaxScale, message)
                .label(&self.expr.span.at(range), label)
                .context(
                    &nope.key,
                    format!("queries and keys meet in {nope_dim} + {rope_dim} = {} dimensions", nope_dim + rope_dim),
                )
                .note("scores are divided by the root of the number of dimensions that they sum over")
                .help("write the dimensions of a query")
                .patch(&self.expr.span, format!("\"{}\"", self.formula())),
        )
    }

    /// The mscale that this checkpoint's model applies to scores: that of a yarn that states `mscale_all_dim`. In Mistral's own
    /// format, `yarn.apply_scale = false` leaves it out. A stated 0 counts as none, as it does in the reference.
    fn applied(&self) -> Option<(f64, f64)> {
        let yarn = self.yarn().filter(|_| self.spec.checkpoint.format.value != CheckpointFormat::Mistral)?;
        Some((yarn.factor.value, yarn.mscale_all_dim.value.filter(|m| *m != 0.0)?))
    }

    /// The mscale of the formula is there exactly where the model applies it.
    fn mscale(&self, stated: Option<&Expr>) -> Refused<Option<(f64, f64)>> {
        let wrong = |message: &str| Diagnostic::new(Id::RopeScalingUnstated, message.to_owned());
        let applied = self.applied();
        let diagnostic = match (applied, stated, self.yarn()) {
            (Some(_), Some(_), _) | (None, None, _) => return Ok(applied),
            (Some((factor, m)), None, Some(yarn)) => wrong("the softmax scale leaves out the mscale of yarn")
                .label(&self.expr.span, format!("lacks a factor of {:.4}", rope::mscale_of(factor, m).powi(2)))
                .context(&yarn.mscale_all_dim.span, "the model multiplies scores by the square of this one's effect")
                .help("write the factor"),
            (_, Some(stated), Some(_)) if self.spec.checkpoint.format.value == CheckpointFormat::Mistral => {
                wrong("the softmax scale has the mscale of yarn, which `apply_scale = false` rules out")
                    .label(&self.expr.span.at(stated.range.clone()), "is not applied")
                    .context(&self.spec.checkpoint.format.span, "params.json says `yarn.apply_scale = false`")
                    .note("the same weights in Hugging Face's format apply it: the two are two specs")
                    .help("leave the factor out")
            }
            (_, Some(stated), Some(yarn)) => wrong("the softmax scale has an mscale that the config does not state")
                .label(&self.expr.span.at(stated.range.clone()), "is not applied")
                .context(&yarn.mscale_all_dim.span, "the model applies what stands here")
                .help("leave the factor out"),
            // Without yarn its names are unknown, and that has been reported.
            (_, _, None) => return Ok(None),
        };
        Err(Box::new(diagnostic.patch(&self.expr.span, format!("\"{}\"", self.formula()))))
    }
}

/// `yarn_mscale(factor, mscale_all_dim)^2`
fn is_mscale(expr: &Expr) -> bool {
    let is_name = |e: &Expr, name: &str| matches!(&e.kind, ExprKind::Name(n) if n == name);
    let ExprKind::Binary(BinaryOp::Pow, base, exponent) = &expr.kind else { return false };
    let ExprKind::Call(Function::YarnMscale, arguments) = &base.kind else { return false };
    let [factor, mscale] = arguments.as_slice() else { return false };
    is_name(factor, "factor") && is_name(mscale, "mscale_all_dim") && exponent.kind == ExprKind::Int(2)
}
