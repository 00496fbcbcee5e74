//! Factors that `[model]` states as expressions: on the embedding, on what blocks add, and before the head.

use super::suggest;
use crate::diagnostic::{Diagnostic, Diagnostics, Id, quoted};
use crate::expr::{Dim, Expr};
use crate::model::Factor;
use crate::source::Spanned;
use crate::spec::ModelSpec;

/// The three factors.
pub struct Factors {
    /// On the embedding's rows.
    pub embedding: Factor,
    /// On what a mixer or a feed-forward adds to the residual stream.
    pub residual: Option<Factor>,
    /// On the normalised hidden state before the head.
    pub logits: Option<Factor>,
}

/// The values of the factors.
pub fn factors(spec: &ModelSpec, diags: &mut Diagnostics) -> Option<Factors> {
    let model = &spec.model;
    unused(spec, diags);
    let mut optional = |what, expr: &Option<Spanned<Expr>>| match expr {
        None => Some(None),
        Some(expr) => factor(what, expr, spec, diags).map(Some),
    };
    let residual = optional("residual_scale", &model.residual_scale);
    let logits = optional("logit_scale", &model.logit_scale);
    let embedding = factor("embedding_scale", &model.embedding_scale, spec, diags);
    Some(Factors { embedding: embedding?, residual: residual?, logits: logits? })
}

/// What an expression may name. Numbers of the config are there where the spec states them.
fn dimensions(spec: &ModelSpec) -> Vec<(&'static str, Dim)> {
    let model = &spec.model;
    let mut known =
        vec![("hidden_size", Dim::Int(*model.hidden_size)), ("num_hidden_layers", Dim::Int(*spec.layers.num_hidden_layers))];
    known.extend(numbers(spec).into_iter().filter_map(|(name, number)| Some((name, Dim::Float(number?.value)))));
    known
}

fn numbers(spec: &ModelSpec) -> [(&'static str, Option<&Spanned<f64>>); 3] {
    let model = &spec.model;
    [
        ("scale_emb", model.scale_emb.as_ref()),
        ("scale_depth", model.scale_depth.as_ref()),
        ("dim_model_base", model.dim_model_base.as_ref()),
    ]
}

fn factor(what: &str, expr: &Spanned<Expr>, spec: &ModelSpec, diags: &mut Diagnostics) -> Option<Factor> {
    let known = dimensions(spec);
    let value = expr.value.eval_f64(&|name: &str| known.iter().find(|(n, _)| *n == name).map(|(_, dim)| *dim));
    match value {
        Ok(value) if (value as f32).is_finite() && value as f32 > 0.0 => {
            Some(Factor { formula: expr.value.to_string(), value: value as f32 })
        }
        Ok(value) => {
            diags.push(
                Diagnostic::new(Id::ValueOutOfRange, format!("`{what}` is not finite and over 0"))
                    .label(&expr.span, format!("this is {value}"))
                    .help("\"1\" leaves things as they are"),
            );
            None
        }
        Err(e) => {
            let place = expr.span.at(e.range.clone());
            let diagnostic = Diagnostic::new(Id::UnknownDim, format!("`{what}` has no value")).label(&place, e.to_string());
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let wanted = expr.value.uses().into_iter().find(|(_, range)| *range == e.range).map(|(name, _)| name);
            let is_number = numbers(spec).iter().any(|(name, _)| Some(*name) == wanted);
            diags.push(match wanted {
                Some(name) if is_number => diagnostic.help(format!("state `{name}` in [model], as config.json does")),
                Some(name) => suggest(diagnostic, name, &names, &place, || {
                    format!("it may use {}; \"1\" leaves things as they are", quoted(&names))
                }),
                None => diagnostic.help(format!("it may use {}", quoted(&names))),
            });
            None
        }
    }
}

/// A number that no expression uses would silently do nothing.
fn unused(spec: &ModelSpec, diags: &mut Diagnostics) {
    let model = &spec.model;
    let exprs = [Some(&model.embedding_scale), model.residual_scale.as_ref(), model.logit_scale.as_ref()];
    let used: Vec<&str> = exprs.into_iter().flatten().flat_map(|expr| expr.value.names()).collect();
    for (name, number) in numbers(spec) {
        if let Some(number) = number.filter(|_| !used.contains(&name)) {
            diags.push(
                Diagnostic::new(Id::UnusedDefinition, format!("no expression uses `{name}`"))
                    .label(&number.key, "would change nothing")
                    .help("use it in `embedding_scale`, `residual_scale` or `logit_scale`, or delete the line"),
            );
        }
    }
}
