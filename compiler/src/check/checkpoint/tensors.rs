//! What differs between a spec and the tensors of a checkpoint, with the keys that the tensors follow from.

use std::collections::BTreeSet;

use tenon_formats::expect::tensors::{self, TensorDifference, TensorProblem, Tensors, ranges};
use tenon_formats::{TensorEntry, TensorFormat};

use super::{Against, expect, in_one_line, rules, shown_key};
use crate::architecture::Role;
use crate::check::stated::Stated;
use crate::diagnostic::{Diagnostic, Diagnostics, Id, nearest, quoted};
use crate::expr::Expr;
use crate::lower;
use crate::program::Tensor;
use crate::source::Span;

/// Tensors that a diagnostic names: the same mistake is in all of them.
const MOST_NAMES: usize = 4;

impl Against<'_> {
    /// Reports tensors that the spec and the checkpoint do not share. A shape that follows from a key in which the config differs already
    /// is no error of its own.
    pub(super) fn tensors(&self, entries: &[TensorEntry], differ: &BTreeSet<String>, diags: &mut Diagnostics) {
        let found = expect::with_checks(self.model, |checks| tensors::compare(Tensors::sorted(entries), checks));
        let needed = lower::tensors(self.model);
        // Tensors that one key makes wrong in one way are one error.
        let mut groups: Vec<(Cause<'_>, Vec<&TensorDifference>)> = Vec::new();
        for difference in &found {
            let cause = self.cause(difference, &needed);
            if cause.keys.iter().any(|stated| stated.config.iter().any(|key| differ.contains(*key))) {
                continue;
            }
            match groups.iter_mut().find(|(known, _)| known.is_same(&cause)) {
                Some((_, group)) => group.push(difference),
                None => groups.push((cause, vec![difference])),
            }
        }
        diags.extend(groups.iter().map(|(cause, group)| self.tensor(cause, group, &found)));
    }

    /// Why a tensor is not what it must be.
    fn cause<'s>(&'s self, difference: &TensorDifference, needed: &[Tensor]) -> Cause<'s> {
        let tensor = difference.of.as_ref().and_then(|of| needed.iter().find(|tensor| tensor.names.contains(of)));
        let kind = match &difference.problem {
            TensorProblem::Missing => Kind::Missing,
            TensorProblem::LeftOver => Kind::LeftOver,
            TensorProblem::NotAccepted { found, .. } => Kind::Format(found.clone()),
            TensorProblem::Shape { .. } => Kind::Shape,
            // A format that is accepted, and stored as nothing reads it.
            _ => Kind::Stored,
        };
        let mut cause = Cause { kind, keys: Vec::new(), rule: None };
        match (&difference.problem, tensor) {
            (TensorProblem::Shape { needed, found }, Some(tensor)) => {
                self.shape(&mut cause, (tensor, &difference.name), needed, found);
            }
            (TensorProblem::Missing, Some(tensor)) => cause.keys = self.asked(tensor.role, tensor.kind),
            (TensorProblem::LeftOver, _) => {
                let naming = lower::naming(self.model);
                let is = |role: &Role| role.name(&naming).as_deref() == Some(difference.name.as_str());
                if let Some((role, _)) = rules::ASKED.iter().find(|(role, _)| is(role)) {
                    cause.keys = self.asked(*role, None);
                }
            }
            _ => {}
        }
        let layers = self.model.pattern.len();
        let beyond = !difference.layers.is_empty() && difference.layers.iter().all(|&layer| layer >= layers);
        if cause.kind == Kind::LeftOver && beyond {
            cause.keys = self.keys(&["num_hidden_layers"], None);
        }
        cause
    }

    /// The keys of the axes that differ.
    fn shape<'s>(&'s self, cause: &mut Cause<'s>, (tensor, name): (&Tensor, &str), needed: &[Vec<usize>], found: &[usize]) {
        let axes = rules::axes(self.model, tensor, name);
        let [needed] = needed else { return };
        for (axis, (needed, found)) in axes.iter().zip(needed.iter().zip(found)) {
            let Some(rule) = Expr::parse(axis).ok().filter(|_| needed != found) else { continue };
            let keys = self.keys(&rule.names(), tensor.kind);
            cause.keys.extend(
                keys.into_iter().filter(|key| cause.keys.iter().all(|known| known.path() != key.path())).collect::<Vec<_>>(),
            );
            cause.rule.get_or_insert(Rule { expr: rule, text: axis, needed: *needed, found: *found });
        }
    }

    /// The key of the spec that asks for a tensor.
    fn asked(&self, role: Role, kind: Option<usize>) -> Vec<&Stated<'_>> {
        let keys: Vec<&str> = rules::ASKED.iter().filter(|(known, _)| *known == role).map(|(_, key)| *key).collect();
        self.keys(&keys, kind).into_iter().take(1).collect()
    }

    /// The first place of each key, among the tables of one kind of layer where it is one.
    fn keys<'s>(&'s self, names: &[&str], kind: Option<usize>) -> Vec<&'s Stated<'s>> {
        let tables = kind.map(|kind| {
            let kind = &self.model.kinds[kind];
            let mixer = kind.mixer.iter().map(|(name, _)| format!("mixer.{name}"));
            let ffn = kind.ffn.iter().map(|(name, _)| format!("ffn.{name}"));
            mixer.chain(ffn).chain(["model".to_owned(), "layers".to_owned()]).collect::<Vec<_>>()
        });
        let is_of = |stated: &Stated<'_>| tables.as_ref().is_none_or(|tables| tables.contains(&stated.table));
        let find = |name: &str| self.stated.iter().find(|stated| stated.key == name && is_of(stated));
        names.iter().filter_map(|name| find(name)).collect()
    }

    fn tensor(&self, cause: &Cause<'_>, group: &[&TensorDifference], all: &[TensorDifference]) -> Diagnostic {
        let first = group[0];
        let name = shown_key(&first.name);
        let message = in_one_line(format!("`{name}`{}", sentence(&first.problem)), || {
            format!("a tensor of the checkpoint {}", cause.kind.in_short())
        });
        let id = if matches!(cause.kind, Kind::Format(_)) { Id::WeightFormatUnsupported } else { Id::CheckpointMismatch };
        let mut diagnostic = Diagnostic::new(id, message);
        let placed: Vec<(&Stated<'_>, &Span)> = cause.keys.iter().filter_map(|one| Some((*one, one.place?.1))).collect();
        diagnostic = match (&cause.kind, placed.split_first()) {
            (Kind::Format(_) | Kind::Stored, _) => diagnostic.label(&self.spec.weights.accept.span, "what a tensor may be"),
            (_, Some(((one, span), rest))) => {
                let text = match cause.kind {
                    Kind::Shape => "its shape follows from it",
                    Kind::LeftOver if one.key == "num_hidden_layers" => "no layer of the spec has so high a number",
                    Kind::LeftOver => "the spec asks for none",
                    _ => "the spec asks for it",
                };
                rest.iter().fold(diagnostic.label(span, text), |d, (_, span)| d.context(span, "and from this"))
            }
            (_, None) => diagnostic.label(&self.spec.checkpoint.model_type.span, "the names of tensors follow from it"),
        };
        // A tensor that stands once was named.
        let several = group.len() > 1 || !first.layers.is_empty();
        for difference in group.iter().take(if several { MOST_NAMES } else { 0 }) {
            diagnostic = diagnostic.note(note(difference));
        }
        if group.len() > MOST_NAMES {
            diagnostic = diagnostic.note(format!("and so in {} others", group.len() - MOST_NAMES));
        }
        if let Some(Rule { text, needed, found, .. }) = &cause.rule {
            diagnostic = diagnostic.note(format!("{text} is {needed} in the spec, and {found} in the checkpoint"));
        }
        self.with_way_out(diagnostic, cause, first, all)
    }

    fn with_way_out(
        &self,
        diagnostic: Diagnostic,
        cause: &Cause<'_>,
        first: &TensorDifference,
        all: &[TensorDifference],
    ) -> Diagnostic {
        let source = &self.spec.checkpoint.source.value;
        let take = format!("give the checkpoint that the spec is for, `{source}`");
        match &cause.kind {
            Kind::Format(TensorFormat::Known(format)) => {
                let accept = &self.spec.weights.accept;
                let end = accept.value.last().map_or(accept.span.range.start + 1, |last| last.span.range.end);
                let diagnostic = diagnostic.help(take).help("accept it, where this is the checkpoint that is meant");
                diagnostic.patch(&accept.span.at(end..end), format!(", \"{format}\""))
            }
            Kind::Format(TensorFormat::Other(_)) | Kind::Stored => {
                diagnostic.help("this version reads no tensor that is stored so").help(take)
            }
            Kind::Shape => {
                let ways = cause.rule.iter().flat_map(|rule| self.solutions(&rule.expr, rule.found as u64, &cause.keys));
                let ways: Vec<String> = ways.map(|(key, value)| format!("{key} = {value}")).collect();
                let diagnostic = match ways.is_empty() {
                    false => diagnostic.help(format!("it would fit with {}", quoted(&ways))),
                    true => diagnostic,
                };
                diagnostic.help(take)
            }
            Kind::Missing => {
                let left: Vec<&str> =
                    all.iter().filter(|d| d.problem == TensorProblem::LeftOver).map(|d| d.name.as_str()).collect();
                match nearest(&first.name, left).first() {
                    Some(other) => {
                        let other = shown_key(other);
                        diagnostic.help(format!("`{other}` may be it under another name: see `names` of `[weights]`")).help(take)
                    }
                    None => diagnostic.help(take),
                }
            }
            Kind::LeftOver if cause.keys.is_empty() => diagnostic
                .help(take)
                .help("where it cannot change the output, say why: `\"name\" = \"...\"` in `[weights.ignore]`"),
            Kind::LeftOver => diagnostic.help("ask for it, where this is the checkpoint that is meant").help(take),
        }
    }

    /// Values that one key could have so that a rule gives this, the others as they are.
    fn solutions<'k>(&self, rule: &Expr, wanted: u64, keys: &'k [&Stated<'_>]) -> Vec<(&'k str, u64)> {
        let stated = |name: &str| -> Option<u64> {
            let place = keys.iter().find(|one| one.key == name)?.place?.1;
            self.sources.text(place).replace('_', "").parse().ok()
        };
        let with = |key: &str, value: u64| rule.eval_u64(&|name: &str| if name == key { Some(value) } else { stated(name) }).ok();
        let solve = |key: &'k str| {
            // Every rule is linear in each of its keys.
            let (one, two) = (with(key, 1)?, with(key, 2)?);
            let step = two.checked_sub(one).filter(|step| *step > 0)?;
            let more = wanted.checked_sub(one)?;
            let value = more.is_multiple_of(step).then(|| 1 + more / step)?;
            (with(key, value) == Some(wanted)).then_some((key, value))
        };
        let names: BTreeSet<&str> = rule.names().into_iter().collect();
        keys.iter().filter(|one| names.contains(one.key)).filter_map(|one| solve(one.key)).collect()
    }
}

/// What makes tensors wrong.
struct Cause<'a> {
    kind: Kind,
    /// The keys of the spec that they follow from.
    keys: Vec<&'a Stated<'a>>,
    /// The first axis that differs.
    rule: Option<Rule>,
}

/// An axis of a tensor that differs.
struct Rule {
    /// What it follows from.
    expr: Expr,
    text: &'static str,
    /// By the spec, and in the checkpoint.
    needed: usize,
    found: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Missing,
    LeftOver,
    Shape,
    Format(TensorFormat),
    Stored,
}

impl Kind {
    fn in_short(&self) -> &'static str {
        match self {
            Self::Missing => "is missing",
            Self::LeftOver => "is not one of the spec",
            Self::Shape => "has another shape than the spec makes it",
            Self::Format(_) => "is stored as the spec does not accept",
            Self::Stored => "is stored as nothing reads it",
        }
    }
}

impl Cause<'_> {
    fn is_same(&self, other: &Self) -> bool {
        let paths = |cause: &Self| cause.keys.iter().map(|key| key.path()).collect::<Vec<_>>();
        let axis = |cause: &Self| cause.rule.as_ref().map(|rule| (rule.text, rule.found));
        // Of what no key says, each tensor is an error of its own, unless all are stored alike.
        let told = !self.keys.is_empty() || matches!(self.kind, Kind::Format(_));
        told && self.kind == other.kind && paths(self) == paths(other) && axis(self) == axis(other)
    }
}

/// What follows the name of a tensor in a message.
fn sentence(problem: &TensorProblem) -> String {
    match problem {
        TensorProblem::Shape { needed, found } => {
            let needed: Vec<String> = needed.iter().map(|shape| format!("{shape:?}")).collect();
            format!(" is {found:?}, and the spec needs {}", needed.join(" or "))
        }
        TensorProblem::LeftOver => " is in the checkpoint and not in the spec".to_owned(),
        other => other.to_string(),
    }
}

/// One tensor of several that are wrong alike.
fn note(difference: &TensorDifference) -> String {
    let mut text = format!("`{}`", shown_key(&difference.name));
    let mut of = " of";
    for (kind, numbers) in [("layer", &difference.layers), ("expert", &difference.experts)] {
        if !numbers.is_empty() {
            let s = if numbers.len() == 1 { "" } else { "s" };
            text.push_str(&format!("{of} {kind}{s} {}", ranges(numbers)));
            of = ",";
        }
    }
    text + &sentence(&difference.problem)
}
