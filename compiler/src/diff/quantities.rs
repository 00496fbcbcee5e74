//! Parameters, bytes and flops of a program, before and after.

use serde::Serialize;

use crate::emit::Deployment;

/// A number that follows from a spec, before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantity {
    /// `parameters`, `weights`, `cache`, `state`, `scratch` or `decode`.
    pub name: &'static str,
    /// Such as `B/token`; empty where the name says it.
    pub unit: String,
    /// The dtype or format that it is for, where there are several.
    pub of: Option<String>,
    /// Before.
    pub old: u64,
    /// After.
    pub new: u64,
    /// `new / old`; `None` where there was nothing.
    pub ratio: Option<f64>,
}

fn quantity(name: &'static str, unit: &str, of: Option<&str>, old: u64, new: u64) -> Quantity {
    let ratio = (old > 0).then(|| new as f64 / old as f64);
    Quantity { name, unit: unit.to_owned(), of: of.map(str::to_owned), old, new, ratio }
}

/// What both sides have of a list by name.
fn common<'a>(old: &'a [(String, u64)], new: &'a [(String, u64)]) -> impl Iterator<Item = (&'a str, u64, u64)> {
    old.iter().filter_map(|(name, before)| {
        let (_, after) = new.iter().find(|(other, _)| other == name)?;
        Some((name.as_str(), *before, *after))
    })
}

/// The quantities of a model that differ and depend on no target.
pub(super) fn of_model(old: &Deployment, new: &Deployment) -> Vec<Quantity> {
    let mut all = vec![quantity("parameters", "", None, old.parameters, new.parameters)];
    // One format stands for all: the first that both accept, which is the default of both mostly.
    let weights = common(&old.weight_bytes, &new.weight_bytes).next();
    all.extend(weights.map(|(format, old, new)| quantity("weights", "B", Some(format), old, new)));
    if let (Some((before, old)), Some((after, new))) = (old.kv_bytes_per_token.first(), new.kv_bytes_per_token.first())
        && before != after
    {
        // The default is another dtype: what a server takes that is started without a flag.
        all.push(quantity("cache", "B/token", Some(&format!("default, {before} -> {after}")), *old, *new));
    }
    let cache = common(&old.kv_bytes_per_token, &new.kv_bytes_per_token);
    all.extend(cache.map(|(dtype, old, new)| quantity("cache", "B/token", Some(dtype), old, new)));
    all.push(quantity("state", "B/sequence", None, old.state_bytes_per_slot, new.state_bytes_per_slot));
    all.retain(|q| q.old != q.new);
    all
}

/// The quantities of a target that differ.
pub(super) fn of_target(old: &Deployment, new: &Deployment) -> Vec<Quantity> {
    let at = |what: &str| match old.decode_context == new.decode_context {
        true => format!("{what} at context {}", crate::diagnostic::thousands(new.decode_context)),
        false => {
            let context = crate::diagnostic::thousands;
            format!("{what} at contexts {} -> {}", context(old.decode_context), context(new.decode_context))
        }
    };
    let whole = |value: f64| value.round() as u64;
    let mut all = vec![
        quantity("scratch", "B/token", None, old.scratch_bytes_per_token, new.scratch_bytes_per_token),
        quantity("scratch", "B/row of logits", None, old.scratch_bytes_per_logit_row, new.scratch_bytes_per_logit_row),
        quantity("decode", &at("B"), None, whole(old.decode.bytes), whole(new.decode.bytes)),
        quantity("decode", &at("flops"), None, whole(old.decode.flops), whole(new.decode.flops)),
    ];
    all.retain(|q| q.old != q.new);
    all
}
