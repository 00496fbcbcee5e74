//! Which instances a step launches on a GPU, and how often: the expectation that counters on a device are compared with.
//!
//! It is derived from a lowered [`Program`], the selection of kernels and TEMPLATE.toml. It knows neither the code that was emitted nor what a
//! runtime says that it launched, so that what lies between is proven by the comparison: the arms for few and for many rows, loops over layers,
//! the choice of an instance when weights are loaded and rows are known, passes over contexts, buckets, captured graphs.
//!
//! | an op | is launched |
//! |---|---|
//! | whose grid has no block at the step's dimensions | never: nobody is there whom it serves |
//! | of a block | once for each layer of that kind, as the instance of the layer's formats and cache dtype |
//! | behind the gathering of rows | where some row wants logits, over those rows |
//! | for few rows, for many | with at most [`FEW_ROWS`](crate::program::FEW_ROWS) rows, with more |
//! | that is a product | as `linear` for few rows; for many as one of the matrix library's, after `dequantise` where the weight is not bf16 |
//! | that is a gated product | as `linear_gated` for few rows of weights of one format; else as two products and `act_mul` |
//! | that expands latents | once for each pass: whole contexts in order as far as they find room, and heads as many as find room beside them |
//! | that chooses a token | where the step ends so |
//!
//! Of the sizes for which a template has instances, the smallest that has enough rows is taken. A step of one token for each sequence has the
//! rows of its bucket, whether it is launched, captured or replayed, unless its single tokens are computed in passes over their contexts.

mod count;
mod step;
mod text;

use std::collections::BTreeMap;

use tenon_formats::StorageFormat;

use crate::architecture::Role;
use crate::program::Program;

pub use step::BUCKETS;
pub use text::{read, shown};

/// The tokens of one sequence in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Tokens that are in the cache already.
    pub cached: u64,
    /// Tokens of this step.
    pub tokens: u64,
}

/// What a step ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Rows of logits.
    Logits,
    /// The most likely token of each row.
    Greedy,
    /// A token that is drawn for each row.
    Sampled,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its sequences.
    pub spans: Vec<Span>,
    /// Rows that want logits.
    pub logit_rows: u64,
    /// What it ends with.
    pub ending: Ending,
}

/// What a load fixes for every step.
pub struct Deployment<'d> {
    /// The dtype of caches whose dtype is chosen.
    pub kv_dtype: &'d str,
    /// The most rows of a captured step: the fewest of the tokens, the rows of logits and the sequences that a step may have.
    pub largest_bucket: u64,
    /// In which format the weight of a role is stored, in a layer or outside of all.
    pub format: &'d dyn Fn(Role, Option<usize>) -> Result<StorageFormat, String>,
}

/// What a step launches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launches {
    /// Of each instance, how often.
    pub kernels: BTreeMap<String, u64>,
    /// Products of the matrix library, whose kernels are its own affair: `[rows, inputs] by [outputs, inputs]`, how often.
    pub products: BTreeMap<String, u64>,
}

impl Launches {
    /// Launches of all instances together.
    pub fn total(&self) -> u64 {
        self.kernels.values().sum()
    }
}

/// What a step of a program launches.
///
/// # Errors
/// When the deployment or the step is not one of the program's: a format, a cache dtype or a number of rows for which it has no instance, or
/// a program for a target without kernels.
pub fn launches(program: &Program<'_>, deployment: &Deployment<'_>, step: &Step) -> Result<Launches, String> {
    if !program.target.launches() {
        return Err(format!("{} on {} launches no kernels", program.model.name, program.target.name()));
    }
    count::count(program, deployment, step)
}

#[cfg(test)]
mod tests;
