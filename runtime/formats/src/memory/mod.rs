//! What a deployment holds in memory: one table, which `tenon plan` prints, the server checks before it loads, and a test compares
//! with what was loaded.
//!
//! It stands here because the compiler and the runtime both need it, and neither may link the other. Everything is a function of
//! numbers: [`Needs`] are a model's, [`Settings`] a deployment's, and [`Needs::plan`] makes the table of both.

pub mod device;
pub mod machine;

mod fit;
mod json;
mod room;
mod size;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::StorageFormat;

pub use fit::{Budget, Flags, ID, Refusal};
pub use room::Room;
pub use size::{parse_size, shown_size, thousands};
pub use table::{Pool, Table};

/// Tokens per page of the cache, unless something else is asked for.
pub const PAGE_SIZE: u64 = 64;
/// Tokens of a prompt per step: enough rows to reuse each weight many times, few enough that Ctrl-C is heard soon.
pub const CHUNK: u64 = 256;
/// The context of a deployment unless a flag says otherwise, where the model's is not shorter.
pub const DEFAULT_CONTEXT: u64 = 8192;
/// Outputs of a packed matrix are padded to whole tiles of so many.
pub const TILE_OUTPUTS: usize = 8;
/// Bytes of a vector of 8 f32, at multiples of which blocks with scales in f32 begin.
const VECTOR_BYTES: usize = 32;

/// Weights of one storage format, as a target keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldWeights {
    /// The format in which they are kept.
    pub format: StorageFormat,
    /// They stay where the file is mapped, and are no copy.
    pub mapped: bool,
    /// How many bytes.
    pub bytes: u64,
}

/// A cache dtype that the spec allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvNeed {
    /// As the command line spells it.
    pub dtype: &'static str,
    /// Bytes per token over all layers, those of a fixed dtype included.
    pub bytes_per_token: u64,
}

/// What one step computes in, as numbers over its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workspace {
    /// Bytes of activations per token of the largest step.
    pub token_bytes: u64,
    /// Bytes of activations per row of logits.
    pub logit_row_bytes: u64,
    /// Bytes of activations whatever the step's size.
    pub fixed_bytes: u64,
    /// What each thread keeps for itself: the kernels' intermediate results.
    pub rooms: Cow<'static, [Room]>,
}

impl Workspace {
    /// Bytes of activations of a step.
    pub fn activations(&self, tokens: u64, logit_rows: u64) -> u64 {
        let of_tokens = tokens.saturating_mul(self.token_bytes);
        of_tokens.saturating_add(logit_rows.saturating_mul(self.logit_row_bytes)).saturating_add(self.fixed_bytes)
    }

    /// Bytes that all threads together keep for themselves, at most, with steps of so many tokens.
    pub fn rooms(&self, tokens: u64, threads: u64) -> u64 {
        threads.saturating_mul(Room::bytes(&self.rooms, tokens, threads))
    }
}

/// What a model needs, whatever the deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The spec's name.
    pub model: String,
    /// Its weights, by format.
    pub weights: Vec<HeldWeights>,
    /// Cache dtypes that the spec allows, the default first; at least one.
    pub kv: Vec<KvNeed>,
    /// Bytes of recurrent state of a sequence, and of a snapshot; 0 where no layer is recurrent.
    pub state_bytes: u64,
    /// Rows of the embedding.
    pub vocab_size: u64,
    /// Longest context of the spec, in tokens.
    pub max_context: u64,
    /// What a step computes in.
    pub workspace: Workspace,
}

impl Needs {
    /// Bytes of all weights.
    pub fn weight_bytes(&self) -> u64 {
        self.weights.iter().map(|w| w.bytes).sum()
    }
}

/// What a deployment is to hold. Each number sizes one thing and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Tokens of one sequence, prompt and answer together.
    pub context: u64,
    /// Sequences at a time; where layers are recurrent, each has a slot of the state pool.
    pub sequences: u64,
    /// Tokens of the cache, which all sequences share; without it, there is room for a whole context of each.
    pub cache_tokens: Option<u64>,
    /// Snapshots of recurrent states.
    pub snapshots: u64,
    /// Index into [`Needs::kv`].
    pub kv: usize,
    /// Threads that compute.
    pub threads: u64,
    /// Tokens per page of the cache.
    pub page_size: u64,
    /// Tokens of a prompt per step.
    pub chunk: u64,
    /// Rows of logits of a step, for each sequence.
    pub rows_each: u64,
}

impl Settings {
    /// A deployment that answers requests, with the default dtype and no snapshots.
    pub const fn new(context: u64, sequences: u64, threads: u64) -> Self {
        Self {
            context,
            sequences,
            cache_tokens: None,
            snapshots: 0,
            kv: 0,
            threads,
            page_size: PAGE_SIZE,
            chunk: CHUNK,
            rows_each: 1,
        }
    }

    /// Pages of the cache.
    pub const fn pages(&self) -> u64 {
        match self.cache_tokens {
            Some(tokens) => tokens.div_ceil(self.page_size),
            None => self.context_pages().saturating_mul(self.sequences),
        }
    }

    /// Pages that one whole context fills: the cache has as many at least, or the longest prompts could never be computed.
    pub const fn context_pages(&self) -> u64 {
        self.context.div_ceil(self.page_size)
    }

    /// Tokens of the largest step: a chunk of one prompt beside a token of every other sequence.
    pub const fn step_tokens(&self) -> u64 {
        self.chunk.saturating_add(self.sequences.saturating_sub(1))
    }

    /// Rows of logits of the largest step.
    pub const fn logit_rows(&self) -> u64 {
        self.sequences.saturating_mul(self.rows_each)
    }
}

/// Bytes of a matrix that is packed for the CPU: whole tiles of outputs, each row in the blocks of its format. `None` where rows are not
/// whole blocks.
///
/// `scaled` is for fp8 whose blocks of 128 x 128 have scales of their own: each piece of a row keeps its scale beside it, in f32, and
/// the pieces of a tile begin at whole vectors.
pub fn packed_bytes(format: StorageFormat, outputs: usize, inputs: usize, scaled: bool) -> Option<u64> {
    let rows = outputs.next_multiple_of(TILE_OUTPUTS) as u64;
    let row = if scaled {
        let piece = scaled_piece(inputs);
        let tile = (TILE_OUTPUTS * (4 + piece)).next_multiple_of(VECTOR_BYTES);
        inputs / piece * (tile / TILE_OUTPUTS)
    } else {
        format.row_bytes(inputs)?
    };
    Some(rows * row as u64)
}

/// Inputs that share a scale in a packed row of fp8: the most that a row is a whole number of.
pub const fn scaled_piece(inputs: usize) -> usize {
    if inputs.is_multiple_of(128) {
        128
    } else if inputs.is_multiple_of(16) {
        16
    } else {
        1
    }
}
