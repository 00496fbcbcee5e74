//! `[mixer.<name>.rope]`: rope_type decides which keys there are, and each of those must be given.

use crate::diagnostic::{Diagnostic, Id};
use crate::parse::SIZE;
use crate::parse::model::{POSITIVE, is_positive};
use crate::reader::{Table, Vocabulary};
use crate::source::Spanned;
use crate::spec::{RopeScalingSpec, RopeSpec, YarnSpec};

#[derive(Clone, Copy, PartialEq)]
enum RopeType {
    Default,
    Llama3,
    Linear,
    Yarn,
    None,
}

const ROPE_TYPES: Vocabulary<RopeType> = Vocabulary {
    names: &[
        ("default", RopeType::Default),
        ("llama3", RopeType::Llama3),
        ("linear", RopeType::Linear),
        ("yarn", RopeType::Yarn),
        ("none", RopeType::None),
    ],
    not_yet: &["dynamic", "longrope", "su", "mrope", "proportional"],
    not_yet_id: Id::UnknownValue,
};

/// Keys of every rotation.
const ROTATION_KEYS: [&str; 3] = ["rope_theta", "rotary_dim", "interleaved"];

/// Every key that belongs to some rope_type of the field: given to another one, it would not be obeyed.
const SCALING_KEYS: [&str; 13] = [
    "factor",
    "low_freq_factor",
    "high_freq_factor",
    "original_max_position_embeddings",
    "attention_factor",
    "beta_fast",
    "beta_slow",
    "mscale",
    "mscale_all_dim",
    "short_factor",
    "long_factor",
    "truncate",
    "llama_4_scaling_beta",
];

const ORIGINAL: &str = "original_max_position_embeddings";

impl RopeType {
    fn name(self) -> &'static str {
        ROPE_TYPES.names.iter().find(|(_, t)| *t == self).map(|(name, _)| *name).unwrap_or_default()
    }

    /// Keys that must be given beside those of every rotation.
    const fn wanted(self) -> &'static [&'static str] {
        match self {
            Self::Default | Self::None => &[],
            Self::Linear => &["factor"],
            Self::Llama3 => &["factor", "low_freq_factor", "high_freq_factor", ORIGINAL],
            Self::Yarn => {
                &["factor", ORIGINAL, "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "attention_factor", "truncate"]
            }
        }
    }

    /// Keys that may be given.
    const fn allowed(self) -> &'static [&'static str] {
        match self {
            Self::Yarn => &["llama_4_scaling_beta"],
            Self::Default | Self::None | Self::Linear | Self::Llama3 => &[],
        }
    }
}

/// Reads one table. The value is `None` for `rope_type = "none"`, and has the place of `rope_type`.
pub(super) fn read(mut table: Table<'_>) -> Option<Spanned<Option<RopeSpec>>> {
    let Some(rope_type) = table.required("rope_type").and_then(|v| v.choice(&ROPE_TYPES)) else {
        // They are known all the same, so that the other keys of the table are not told to be unknown.
        table.abandon();
        return None;
    };
    scaling_keys(&mut table, &rope_type);
    if rope_type.value == RopeType::None {
        table.finish();
        return Some(rope_type.with(None));
    }
    let rope_theta = table.required("rope_theta").and_then(|v| v.float(POSITIVE, is_positive));
    let rotary_dim = table.required("rotary_dim").and_then(|v| v.integer(SIZE));
    let interleaved = table.required("interleaved").and_then(|v| v.boolean());
    let scaling = scaling(&mut table, rope_type.value);
    table.finish();
    Some(rope_type.with(Some(RopeSpec {
        rope_theta: rope_theta?,
        rotary_dim: rotary_dim?,
        interleaved: interleaved?,
        scaling: rope_type.with(scaling?),
    })))
}

/// The keys of a rope_type; those that are missing have been reported.
fn scaling(table: &mut Table<'_>, rope_type: RopeType) -> Option<RopeScalingSpec> {
    let mut number = |key| table.optional(key).and_then(|v| v.float(POSITIVE, is_positive));
    match rope_type {
        RopeType::Default | RopeType::None => Some(RopeScalingSpec::Default),
        RopeType::Linear => Some(RopeScalingSpec::Linear { factor: number("factor")? }),
        RopeType::Llama3 => {
            let [factor, low, high] = ["factor", "low_freq_factor", "high_freq_factor"].map(number);
            let original = table.optional(ORIGINAL).and_then(|v| v.integer(SIZE));
            Some(RopeScalingSpec::Llama3 {
                factor: factor?,
                low_freq_factor: low?,
                high_freq_factor: high?,
                original_max_position_embeddings: original?,
            })
        }
        RopeType::Yarn => {
            let [factor, beta_fast, beta_slow, beta] = ["factor", "beta_fast", "beta_slow", "llama_4_scaling_beta"].map(number);
            let mut stated = |key, none: &str, what: &str, legal: fn(f64) -> bool| {
                table.optional(key).and_then(|v| v.or_none(none, |v| v.float(what, legal)))
            };
            let at_least_0 = |m| m >= 0.0;
            let none = "a number, or \"none\" where the config does not state it";
            let mscale = stated("mscale", none, "finite and at least 0", at_least_0);
            let mscale_all_dim = stated("mscale_all_dim", none, "finite and at least 0", at_least_0);
            let attention_factor = stated("attention_factor", none, POSITIVE, is_positive);
            let original = table.optional(ORIGINAL).and_then(|v| v.integer(SIZE));
            let truncate = table.optional("truncate").and_then(|v| v.boolean());
            Some(RopeScalingSpec::Yarn(YarnSpec {
                factor: factor?,
                original_max_position_embeddings: original?,
                beta_fast: beta_fast?,
                beta_slow: beta_slow?,
                mscale: mscale?,
                mscale_all_dim: mscale_all_dim?,
                attention_factor: attention_factor?,
                truncate: truncate?,
                llama_4_scaling_beta: beta,
            }))
        }
    }
}

/// A rope_type has exactly the keys that it says: one that is left out is no default, one too many would not be obeyed.
fn scaling_keys(table: &mut Table<'_>, rope_type: &Spanned<RopeType>) {
    let (name, wanted) = (rope_type.value.name(), rope_type.value.wanted());
    let missing: Vec<&str> = wanted.iter().copied().filter(|key| table.key_span(key).is_none()).collect();
    if let [first, more @ ..] = missing.as_slice() {
        let rest = match more {
            [] => String::new(),
            [one] => format!(" and `{one}`"),
            several => format!(" and {} more keys", several.len()),
        };
        let label = if more.is_empty() { "it has no default" } else { "none of them has a default" };
        let diagnostic = Diagnostic::new(Id::RopeScalingUnstated, format!("rope_type `{name}` needs `{first}`{rest}"));
        let diagnostic = diagnostic.label(&rope_type.span, label).context(table.header(), "missing here");
        table.report(missing.iter().fold(diagnostic, |d, key| table.whereabouts(key, d)));
    }
    let rotation: &[&str] = if rope_type.value == RopeType::None { &ROTATION_KEYS } else { &[] };
    let strangers = SCALING_KEYS.iter().chain(rotation);
    for key in strangers.filter(|key| !wanted.contains(key) && !rope_type.value.allowed().contains(key)) {
        if let Some(span) = table.key_span(key) {
            let message = format!("rope_type `{name}` has no `{key}`");
            let diagnostic = Diagnostic::new(Id::RopeScalingUnstated, message).label(&span, "would not be obeyed");
            let help = "take it out, or name the rope_type that it belongs to";
            table.report(diagnostic.context(&rope_type.span, "decides which keys there are").help(help));
            // Reported once, here, and not again as a key that nothing reads.
            table.skip(key);
        }
    }
}
