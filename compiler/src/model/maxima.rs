//! The largest step that a plan is for, over which launches and index widths are proven.

use crate::expr::Dim;

/// The largest step that a plan is for.
///
/// KERNEL.toml may state each number below `[<target>.limits]`; [`Maxima::default_for`] is the only place that says what they are where
/// it does not. They change no output. A proof holds for steps up to them only: code for a target that launches kernels has to carry
/// them, and its runtime to refuse more. `tenon plan --kernels` prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Maxima {
    /// Tokens of a step, over all sequences; also the rows of logits.
    pub step_tokens: u64,
    /// Sequences of a step; also the recurrent states.
    pub sequences: u64,
    /// Tokens of one sequence, cached ones included: `max_position_embeddings` of the model.
    pub context: u64,
    /// Tokens of a page of the cache.
    pub page_size: u64,
    /// Pages of the cache.
    pub pages: u64,
}

/// What the names of step dimensions stand for in one step: the smallest, the largest, or one in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepDims(pub [u64; Maxima::DIMS.len()]);

impl Maxima {
    /// What holds where KERNEL.toml states nothing: a prompt chunk of 8,192 tokens, 256 sequences, and 2^20 pages of up to 256
    /// tokens, which is more cache than a node of eight GPUs holds. The context is the model's.
    pub const fn default_for(context: u64) -> Self {
        Self { step_tokens: 8192, sequences: 256, context, page_size: 256, pages: 1 << 20 }
    }

    /// The step dimensions that launches and shapes may use, and no other name of a step:
    ///
    /// | name | counts | most | key |
    /// |---|---|---|---|
    /// | `tokens` | tokens of the step | `step_tokens` | `[<target>.limits] step_tokens` |
    /// | `logit_rows` | rows of logits | `step_tokens` | `[<target>.limits] step_tokens` |
    /// | `sequences` | sequences of the step, and recurrent states | `sequences` | `[<target>.limits] sequences` |
    /// | `context` | tokens of one sequence, cached ones included | `context` | `max_position_embeddings` |
    /// | `page_size` | tokens of a page of the cache | `page_size` | `[<target>.limits] page_size` |
    /// | `pages` | pages of the cache | `pages` | `[<target>.limits] pages` |
    /// | `prefill_spans` | sequences with several tokens in the step | `sequences` | `[<target>.limits] sequences` |
    /// | `decode_spans` | sequences with one token in the step | `sequences` | `[<target>.limits] sequences` |
    /// | `span_tokens` | tokens of the longest span | `step_tokens` | `[<target>.limits] step_tokens` |
    /// | `slots` | recurrent states that are kept | `sequences` | `[<target>.limits] sequences` |
    ///
    /// In how many parts a decode kernel splits a context is a parameter of its template.
    pub const DIMS: [&'static str; 10] = [
        "tokens",
        "logit_rows",
        "sequences",
        "context",
        "page_size",
        "pages",
        "prefill_spans",
        "decode_spans",
        "span_tokens",
        "slots",
    ];

    /// The largest step.
    pub const fn largest(self) -> StepDims {
        let Self { step_tokens, sequences, context, page_size, pages } = self;
        StepDims([step_tokens, step_tokens, sequences, context, page_size, pages, sequences, sequences, step_tokens, sequences])
    }

    /// The key below `[<target>.limits]` that bounds a step dimension; `None` for the context, which the model states.
    pub fn key(dim: &str) -> Option<&'static str> {
        Some(match dim {
            "tokens" | "logit_rows" | "span_tokens" => "step_tokens",
            "sequences" | "prefill_spans" | "decode_spans" | "slots" => "sequences",
            "page_size" => "page_size",
            "pages" => "pages",
            _ => return None,
        })
    }
}

impl StepDims {
    /// A step of one token of one sequence, and nothing cached before it.
    pub const SMALLEST: Self = Self([1; Maxima::DIMS.len()]);

    /// What a name stands for.
    pub fn get(self, name: &str) -> Option<Dim> {
        Maxima::DIMS.iter().position(|dim| *dim == name).map(|at| Dim::Int(self.0[at]))
    }

    /// The same with at most so many rows.
    pub fn at_most(self, rows: u64) -> Self {
        let mut dims = self;
        for (dim, name) in dims.0.iter_mut().zip(Maxima::DIMS) {
            if matches!(name, "tokens" | "logit_rows" | "sequences" | "prefill_spans" | "decode_spans" | "span_tokens") {
                *dim = (*dim).min(rows);
            }
        }
        dims
    }

    /// The same with another value for all dimensions of one key; see [`Maxima::key`].
    pub fn with(self, key: Option<&str>, value: u64) -> Self {
        let mut dims = self;
        for (of, dim) in dims.0.iter_mut().zip(Maxima::DIMS) {
            if Maxima::key(dim) == key {
                *of = value;
            }
        }
        dims
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dimension_has_a_value_and_a_key_or_is_the_context() {
        let maxima = Maxima { step_tokens: 2, sequences: 3, context: 5, page_size: 7, pages: 11 };
        let largest = maxima.largest();
        let values = Maxima::DIMS.map(|dim| largest.get(dim));
        assert_eq!(values, [2, 2, 3, 5, 7, 11, 3, 3, 2, 3].map(|n| Some(Dim::Int(n))));
        assert_eq!(largest.get("kv_splits"), None);
        assert!(Maxima::DIMS.iter().all(|dim| (Maxima::key(dim).is_none()) == (*dim == "context")));
        assert_eq!(largest.with(Some("step_tokens"), 13).0, [13, 13, 3, 5, 7, 11, 3, 3, 13, 3]);
        assert_eq!(largest.with(None, 13).0, [2, 2, 3, 13, 7, 11, 3, 3, 2, 3]);
    }
}
