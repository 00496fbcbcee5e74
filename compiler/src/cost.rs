//! What an op costs: the expressions of its template, over the dimensions of the model and of a step.

use serde::Serialize;
use tenon_formats::StorageFormat;

use crate::expr::{Dim, EvalError, Expr};
use crate::model::{Kernel, Maxima, ParamSet, Requirement};

/// Bytes moved and operations done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Bytes read and written.
    pub bytes: f64,
    /// Floating-point operations, a multiply-add as two.
    pub flops: f64,
}

/// The dimensions of a step that cost expressions may use.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Tokens of the step.
    pub tokens: u64,
    /// Rows of logits.
    pub logit_rows: u64,
    /// Tokens in the cache of each sequence, those of this step included.
    pub context: u64,
    /// Sequences.
    pub sequences: u64,
}

/// Tokens of a page of the cache, for costs that depend on it.
const PAGE: u64 = 16;

impl Step {
    /// Names of the dimensions, for messages and checks.
    pub const DIMS: [&str; 10] = Maxima::DIMS;

    /// What a name stands for. Every sequence counts as a span of either sort, so that a cost of either can be stated.
    fn get(self, name: &str) -> Option<Dim> {
        let Self { tokens, logit_rows, context, sequences } = self;
        let value = match name {
            "tokens" => tokens,
            "logit_rows" => logit_rows,
            "context" => context,
            "sequences" | "prefill_spans" | "decode_spans" | "slots" => sequences,
            "span_tokens" => tokens.div_ceil(sequences.max(1)),
            "page_size" => PAGE,
            "pages" => sequences * context.div_ceil(PAGE),
            _ => return None,
        };
        Some(Dim::Int(value))
    }

    /// A decode step of one sequence.
    pub const fn decode(context: u64) -> Self {
        Self { tokens: 1, logit_rows: 1, context, sequences: 1 }
    }
}

/// Evaluates one cost expression. Where the model allows several formats or dtypes, the first one is the one that counts.
///
/// # Errors
/// A name that is neither a parameter nor a dimension of the step, or a dtype used as a number and the reverse.
pub fn evaluate(expr: &Expr, requirement: &Requirement, kernel: &Kernel, step: Step) -> Result<f64, EvalError> {
    expr.eval_f64(&|name: &str| -> Option<Dim> {
        if let Some(dim) = step.get(name) {
            return Some(dim);
        }
        match requirement.params.iter().find(|(n, _)| *n == name) {
            Some((_, ParamSet::Int(value))) => Some(Dim::Int(*value)),
            Some((_, ParamSet::Names(names))) => StorageFormat::parse(names.first()?).map(Dim::from),
            None => {
                let tuned = kernel.tuned.iter().find(|(n, _)| n == name).map(|(_, value)| Dim::Int(*value));
                // What is chosen with each launch is 1: a single row, or a context in one part.
                tuned.or_else(|| kernel.chosen.iter().any(|n| n == name).then_some(Dim::Int(1)))
            }
        }
    })
}
