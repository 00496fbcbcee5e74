//! Templates by themselves: each is about an op that models have, and says what it can do of all its parameters.

mod device;

use tenon_formats::StorageFormat;

use super::{fit, launch, suggest, suggest_text};
use crate::cost::Step;
use crate::diagnostic::{Diagnostic, Diagnostics, Id, quoted};
use crate::expr::Expr;
use crate::model::{ParamSet, Requirement, Target};
use crate::source::Spanned;
use crate::spec::{ParamRule, Specs, TemplateSpec};

/// What a parameter of an op is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Param {
    /// A dimension.
    Number,
    /// One of these names.
    Name(&'static [&'static str]),
}

const FORMAT: Param = Param::Name(&{
    let mut names = [""; StorageFormat::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = StorageFormat::ALL[i].as_str();
        i += 1;
    }
    names
});
const KV_DTYPE: Param = Param::Name(&["f32", "bf16", "fp8_e4m3"]);
const LAYOUT: Param = Param::Name(&["halves", "interleaved"]);
const ACT: Param = Param::Name(&["silu", "gelu", "gelu_pytorch_tanh", "relu2"]);
use Param::Number;

/// Ops and their parameters.
type Ops = &'static [(&'static str, &'static [(&'static str, Param)])];

/// Every op that a model can ask for on a target.
const fn ops(target: Target) -> Ops {
    match target {
        Target::Cpu => OPS,
        Target::Sm90a => device::OPS,
    }
}

/// Every op that a model can ask for on the CPU, with its parameters: what [`crate::program::Op::requirement`] gives.
const OPS: Ops = &[
    ("embedding", &[("vocab", Number), ("dim", Number), ("format", FORMAT)]),
    ("scale", DIM),
    ("rope_angles", &[("rotary_dim", Number)]),
    ("rms_norm", DIM),
    ("rms_norm_add", DIM),
    ("head_norm", &[("dim", Number), ("head_dim", Number)]),
    ("linear", &[("out", Number), ("in", Number), ("format", FORMAT)]),
    ("quantise", DIM),
    ("linear_int8", &[("out", Number), ("in", Number), ("format", FORMAT)]),
    ("add_bias", DIM),
    ("rope", ROPE),
    ("rope_tail", ROPE),
    ("kv_append", &[("num_key_value_heads", Number), ("head_dim", Number), ("kv_dtype", KV_DTYPE)]),
    ("attention", ATTENTION),
    ("sliding_attention", SLIDING_ATTENTION),
    ("softcap_attention", ATTENTION),
    ("sink_attention", ATTENTION),
    ("sigmoid_mul", DIM),
    ("latent_norm", &[("dim", Number), ("kv_lora_rank", Number)]),
    ("query_scale", DIM),
    ("latent_append", &[("kv_lora_rank", Number), ("qk_rope_head_dim", Number), ("kv_dtype", KV_DTYPE)]),
    ("mla_prefill", MLA),
    ("mla_decode", MLA),
    ("causal_conv", CONV),
    ("causal_conv_bias", CONV),
    ("mamba2_scan", &[("heads", Number), ("head_dim", Number), ("state", Number), ("groups", Number), ("chunk", Number)]),
    ("mamba2_update", &[("heads", Number), ("head_dim", Number), ("state", Number), ("groups", Number)]),
    ("gated_group_norm", &[("dim", Number), ("groups", Number)]),
    ("delta_prefill", DELTA),
    ("delta_decode", DELTA),
    ("gated_head_norm", &[("dim", Number), ("head_dim", Number)]),
    ("silu", DIM),
    ("gelu", DIM),
    ("gelu_tanh", DIM),
    ("relu2", DIM),
    ("silu_mul", DIM),
    ("gelu_mul", DIM),
    ("gelu_tanh_mul", DIM),
    ("relu2_mul", DIM),
    ("route", &[("experts", Number), ("top_k", Number)]),
    ("route_biased", &[("experts", Number), ("top_k", Number)]),
    ("gated_experts", EXPERTS),
    ("clamped_experts", EXPERTS),
    ("plain_experts", EXPERTS),
    ("sigmoid_gate_add", DIM),
    ("add", DIM),
    ("add_scaled", DIM),
    ("gather_logit_rows", DIM),
    ("soft_cap", DIM),
];

const DIM: &[(&str, Param)] = &[("dim", Number)];

const ROPE: &[(&str, Param)] = &[("dim", Number), ("head_dim", Number), ("rotary_dim", Number), ("layout", LAYOUT)];

const ATTENTION: &[(&str, Param)] =
    &[("num_key_value_heads", Number), ("group", Number), ("head_dim", Number), ("kv_dtype", KV_DTYPE)];

const SLIDING_ATTENTION: &[(&str, Param)] =
    &[("num_key_value_heads", Number), ("group", Number), ("head_dim", Number), ("kv_dtype", KV_DTYPE), ("window", Number)];

const MLA: &[(&str, Param)] = &[
    ("num_attention_heads", Number),
    ("qk_nope_head_dim", Number),
    ("qk_rope_head_dim", Number),
    ("v_head_dim", Number),
    ("kv_lora_rank", Number),
    ("format", FORMAT),
    ("form", Param::Name(&["expanded", "absorbed"])),
    ("kv_dtype", KV_DTYPE),
];

const CONV: &[(&str, Param)] = &[("dim", Number), ("conv_kernel", Number)];

const DELTA: &[(&str, Param)] = &[("key_heads", Number), ("key_dim", Number), ("value_heads", Number), ("value_dim", Number)];

const EXPERTS: &[(&str, Param)] =
    &[("experts", Number), ("top_k", Number), ("dim", Number), ("intermediate_size", Number), ("act", ACT), ("format", FORMAT)];

const CLASSES: [&str; 3] = ["products", "exponentials", "elementwise"];
const ACCUMULATORS: [&str; 3] = ["f32", "f64", "i32"];

/// Whether the ops of a target say of an op what a model asks of it.
pub(super) fn knows(requirement: &Requirement, target: Target) -> bool {
    let op = ops(target).iter().find(|(op, _)| *op == requirement.op);
    op.is_some_and(|(_, params)| {
        let fits = |((name, param), (asked, set)): (&(&str, Param), &(&str, ParamSet))| {
            let names = |known: &[&str]| matches!(set, ParamSet::Names(names) if names.iter().all(|n| known.contains(n)));
            name == asked
                && match param {
                    Number => matches!(set, ParamSet::Int(_)),
                    Param::Name(known) => names(known),
                }
        };
        params.len() == requirement.params.len() && params.iter().zip(&requirement.params).all(fits)
    })
}

/// Checks every template.
pub(super) fn check(specs: &Specs, diags: &mut Diagnostics) {
    for template in specs.templates.values() {
        function(template, diags);
        numerics(template, diags);
        expressions(template, diags);
        launch::check_template(template, diags);
        device::launches(template, diags);
        device::code(template, diags);
        let all = ops(template.target.value);
        match all.iter().find(|(op, _)| *op == template.op.value) {
            Some((_, params)) => parameters(template, params, diags),
            None => {
                let ops: Vec<&str> = all.iter().map(|(op, _)| *op).collect();
                let diagnostic = invalid(format!("no model has an op `{}`", template.op.value))
                    .label(&template.op.span, "nothing would ask for it");
                diags.push(suggest_text(diagnostic, &template.op, &ops, || format!("there are {}", quoted(&ops))));
            }
        }
        for (name, rule) in &template.params {
            values(name, &rule.value, diags);
        }
    }
}

pub(super) fn invalid(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Id::TemplateInvalid, message)
}

fn function(template: &TemplateSpec, diags: &mut Diagnostics) {
    let target = &template.target;
    match (target.value, &template.rust) {
        (Target::Sm90a, Some(rust)) => diags.push(
            invalid(format!("a kernel for {} names a Rust function", target.value.name()))
                .label(&rust.key, "nothing would call it")
                .context(&target.span, "runs CUDA code, which stands beside the TEMPLATE.toml")
                .help("delete the line"),
        ),
        (Target::Sm90a, None) => {}
        (Target::Cpu, None) => diags.push(
            invalid("a kernel for the CPU names no function")
                .label(&target.span, "runs a Rust function")
                .help("add rust = \"path::of::the::function\""),
        ),
        (Target::Cpu, Some(rust)) if syn::parse_str::<syn::Path>(&rust.value).is_err() || !rust.value.contains("::") => {
            diags.push(
                invalid(format!("`{}` is not the path of a Rust function", rust.value.replace('`', "")))
                    .label(&rust.span, "")
                    .help("write it from its crate on, such as \"tenon_core::cpu::rope\""),
            );
        }
        (Target::Cpu, Some(_)) => {}
    }
}

fn numerics(template: &TemplateSpec, diags: &mut Diagnostics) {
    let known: [(&Spanned<String>, &str, &[&str]); 2] =
        [(&template.numerics.class, "error model", &CLASSES), (&template.numerics.accumulate, "accumulator", &ACCUMULATORS)];
    for (stated, what, known) in known {
        if !known.contains(&stated.value.as_str()) {
            let diagnostic = invalid(format!("no {what} is named `{}`", stated.value))
                .label(&stated.span, format!("legal: {}", quoted(known)));
            diags.push(match suggest_text(diagnostic.clone(), stated, known, String::new) {
                suggested if suggested.patches.is_empty() => diagnostic,
                suggested => suggested,
            });
        }
    }
}

/// Expressions are over the template's parameters and the dimensions of a step.
fn expressions(template: &TemplateSpec, diags: &mut Diagnostics) {
    for expr in [&template.numerics.depth, &template.cost.bytes, &template.cost.flops] {
        names_are_known(expr, template, &Step::DIMS, diags);
    }
}

/// Whether every name of an expression is a parameter of the template or one of these dimensions of a step; others are told, each once.
pub(super) fn names_are_known(
    expr: &Spanned<Expr>,
    template: &TemplateSpec,
    of_step: &[&'static str],
    diags: &mut Diagnostics,
) -> bool {
    let mut known: Vec<&str> = template.params.iter().map(|(name, _)| name.value.as_str()).collect();
    known.extend(of_step);
    let mut told: Vec<&str> = Vec::new();
    for (name, range) in expr.value.uses() {
        if known.contains(&name) || told.contains(&name) {
            continue;
        }
        told.push(name);
        let place = expr.span.at(range);
        let diagnostic =
            invalid(format!("`{name}` is no dimension of this template")).label(&place, "neither a param nor of the step");
        diags.push(suggest(diagnostic, name, &known, &place, || format!("there are {}", quoted(&known))));
    }
    told.is_empty()
}

/// The template says of every parameter of the op what it can be, and of no other, unless that one can be tuned.
fn parameters(template: &TemplateSpec, params: &[(&'static str, Param)], diags: &mut Diagnostics) {
    let op = &template.op;
    for (name, param) in params {
        let Some((key, rule)) = template.params.iter().find(|(key, _)| key.value == *name) else {
            diags.push(
                invalid(format!("the template does not say which `{name}` it can run"))
                    .label(&op.span, format!("`{}` has a parameter `{name}`", op.value))
                    .help(match param {
                        Number => format!("add `{name} = {{ min = 1 }}` to [params], or a narrower rule"),
                        Param::Name(names) => format!("add `{name} = {:?}` to [params], or fewer of them", names),
                    }),
            );
            continue;
        };
        match (param, &rule.value.one_of) {
            (Number, Some(_)) => diags.push(
                invalid(format!("`{name}` is a number, and this lists names"))
                    .label(&rule.span, "no number is among these")
                    .help(format!("write a rule, such as `{name} = {{ min = 1 }}`")),
            ),
            (Param::Name(names), None) => diags.push(
                invalid(format!("`{name}` is a name, and this is a rule for numbers"))
                    .label(&rule.span, "allows no name")
                    .help(format!("list names out of {}", quoted(*names))),
            ),
            (Param::Name(names), Some(list)) => {
                for stranger in list.iter().filter(|n| !names.contains(&n.value.as_str())) {
                    let diagnostic = invalid(format!("no model has the {name} `{}`", stranger.value))
                        .label(&stranger.span, "nothing would ask for it");
                    diags.push(suggest_text(diagnostic, stranger, names, || format!("there are {}", quoted(*names))));
                }
            }
            (Number, None) => {}
        }
        if let Some(tunable) = &rule.value.tunable {
            diags.push(
                invalid(format!("`{name}` follows from the model and cannot be tuned"))
                    .label(&tunable.span, "would never be chosen")
                    .context(&key.span, format!("a parameter of every `{}`", op.value))
                    .help("delete `tunable`"),
            );
        }
    }
    let names: Vec<&str> = params.iter().map(|(name, _)| *name).collect();
    for (key, rule) in &template.params {
        if !device::is_extra(&key.value, &rule.value) && !names.contains(&key.value.as_str()) {
            let diagnostic = invalid(format!("`{}` has no parameter `{}`", op.value, key.value))
                .label(&key.span, "nothing would ask for it")
                .context(&op.span, format!("has {}", quoted(&names)));
            diags.push(suggest(diagnostic, &key.value, &names, &key.span, || {
                "delete it, or give it `tunable` values to choose from in KERNEL.toml".to_owned()
            }));
        }
    }
}

/// A rule has legal values, and what may be tuned is among them.
fn values(name: &Spanned<String>, rule: &ParamRule, diags: &mut Diagnostics) {
    if let (Some(min), Some(max)) = (&rule.min, &rule.max)
        && min.value > max.value
    {
        diags.push(
            invalid(format!("`{}` can have no value", name.value))
                .label(&min.span, format!("at least {}", min.value))
                .context(&max.span, format!("and at most {}", max.value))
                .help("widen one of the two, or delete it"),
        );
    }
    if let (Some(step), Some(max)) = (&rule.multiple_of, &rule.max)
        && step.value > max.value
    {
        diags.push(
            invalid(format!("`{}` can have no value", name.value))
                .label(&step.span, format!("a multiple of {}", step.value))
                .context(&max.span, format!("and at most {}", max.value))
                .help("widen one of the two, or delete it"),
        );
    }
    let Some(tunable) = &rule.tunable else { return };
    if tunable.is_empty() {
        diags.push(
            invalid(format!("`{}` has no value to choose", name.value))
                .label(&tunable.span, "an empty list")
                .help("list the values that the kernel was written for, the default first"),
        );
    }
    for value in tunable.iter() {
        if let Some((condition, why)) = fit::broken(rule, value.value) {
            diags.push(
                invalid(format!("`{}` may be tuned to {}, which its own rule excludes", name.value, value.value))
                    .label(&value.span, why)
                    .context(&condition, "the rule")
                    .help("delete the value, or widen the rule with the kernel's tests"),
            );
        }
    }
}
