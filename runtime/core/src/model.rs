//! The object-safe interface between a model, which owns weights and caches, and an engine, which owns ids and decisions.

mod error;
mod pull;

use std::sync::Arc;

use tenon_formats::memory::{KvNeed, Needs, Workspace};

use crate::batch::{Batch, BatchLimits, SnapshotId, StateSlot};
use crate::cpu::Isa;
#[cfg(feature = "cuda")]
use crate::cuda::Device;
use crate::dtype::KvDtypeName;
use crate::rows::Rows;
use crate::weights::{Checkpoint, CheckpointNeeds, LoadError};

pub use self::error::{StateError, StepError};
pub use self::pull::{BundledFile, PipPart, PullSource};
pub use tenon_formats::tools::{ReasoningParser, ToolParser, ToolSettings};

/// One loaded model on one target.
///
/// The model owns its caches and pools; the engine owns page and slot ids only, and every decision about them.
pub trait Model: Send {
    /// What the model is.
    fn info(&self) -> &'static ModelInfo;
    /// What a batch for this model may contain.
    fn limits(&self) -> BatchLimits;
    /// Bytes held for weights and for caches.
    fn memory(&self) -> Memory;
    /// Runs one step: writes every token of the batch to the caches and the wanted rows to `logits`.
    ///
    /// A row's logits depend on that sequence's tokens and on its chunk boundaries alone, bit for bit: not on the rest of the
    /// batch, nor on page size or thread count. Models of grouped-query attention do not depend on chunk boundaries either.
    fn step(&mut self, batch: &Batch, logits: &mut Logits) -> Result<(), StepError>;
    /// True where a sequence may be cut into spans anywhere: its rows are then the same bit for bit, or of a target that promises no
    /// bits. Where it is false, whoever wants the same bits again cuts at the same places.
    fn any_chunking(&self) -> bool {
        false
    }
    /// The same model where it can choose tokens itself, beside its logits; `None` where whoever drives it chooses from those.
    fn sampled(&mut self) -> Option<&mut dyn SampledModel> {
        None
    }
    /// Copies the recurrent state of a slot, as the last step left it, into a snapshot.
    ///
    /// # Errors
    /// When the model keeps no state, or an id is out of its pool.
    fn save_state(&mut self, slot: StateSlot, snapshot: SnapshotId) -> Result<(), StateError> {
        let (_, _) = (slot, snapshot);
        Err(StateError::Stateless)
    }
    /// Copies a snapshot into a slot, so that a sequence goes on from where the snapshot was taken.
    ///
    /// # Errors
    /// As [`Model::save_state`].
    fn restore_state(&mut self, snapshot: SnapshotId, slot: StateSlot) -> Result<(), StateError> {
        let (_, _) = (snapshot, slot);
        Err(StateError::Stateless)
    }
}

/// A model that chooses tokens where its logits are, so that a few bytes leave the device instead of a row of the vocabulary.
pub trait SampledModel: Model {
    /// Runs one step as [`Model::step`] does, and chooses a token for each row of logits that the batch wants: `rows[i]` says how for
    /// the i-th. `chosen` is replaced; it has `None` where a row's logits are broken: NaN, an infinity, or nothing over `-inf`.
    ///
    /// # Errors
    /// As [`Model::step`], and when there is not one of `rows` per row of logits.
    fn step_sampled(&mut self, batch: &Batch, rows: &[RowSampling], chosen: &mut Vec<Option<u32>>) -> Result<(), StepError>;
}

/// How the token of one row is chosen: temperature first, then `top_k`, then `top_p`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowSampling {
    /// 0 takes the most likely token, of equal ones the one with the lowest id.
    pub temperature: f32,
    /// Keeps that many of the most likely tokens; 0 keeps all.
    pub top_k: u32,
    /// Keeps the fewest most likely tokens whose mass reaches this; 1 keeps all.
    pub top_p: f32,
    /// Which of them, uniform in `[0, 1)`: the first whose mass goes beyond this share, summed in the order of the ids, or, where `top_p` is
    /// below 1, the likeliest first.
    pub random: f32,
}

impl RowSampling {
    /// The most likely token.
    pub const GREEDY: Self = Self { temperature: 0.0, top_k: 0, top_p: 1.0, random: 0.0 };
}

/// Bytes that a loaded model holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Weights as this target keeps them, repacked copies included.
    pub weights: usize,
    /// Of those, what a decode step reads: all but the embedding, of which a step reads a row per token.
    pub per_token: usize,
    /// KV caches.
    pub cache: usize,
    /// Recurrent states of all slots.
    pub state: usize,
    /// Snapshots of recurrent states.
    pub snapshots: usize,
    /// Activations of the largest step.
    pub scratch: usize,
    /// What threads keep for intermediate results of the recurrences and of latent attention, at most: the first large steps take it.
    pub rooms: usize,
}

impl Memory {
    /// All of it.
    pub const fn total(&self) -> usize {
        self.weights + self.cache + self.state + self.snapshots + self.scratch + self.rooms
    }
}

/// Constants of a model that the engine and the server need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelInfo {
    /// The name of the spec.
    pub name: &'static str,
    /// Where the checkpoint comes from, for messages.
    pub source: &'static str,
    /// Parameters, embeddings included; a tied head counts once.
    pub parameters: u64,
    /// Rows of the embedding.
    pub vocab_size: usize,
    /// Longest context, in tokens.
    pub max_position_embeddings: usize,
    /// Cache dtypes that the spec allows, the default first.
    pub kv_cache_dtypes: &'static [KvDtypeName],
    /// Elements of KV cache per token whose dtype is chosen at load.
    pub kv_elements_per_token: usize,
    /// Bytes of KV cache per token in layers whose dtype is fixed.
    pub kv_fixed_bytes_per_token: usize,
    /// Bytes of recurrent state of one sequence, and of a snapshot of it; 0 where no layer is recurrent.
    pub state_bytes_per_slot: usize,
    /// Where the weights can be fetched, in order.
    pub pull: &'static [PullSource],
    /// Where the chat template comes from.
    pub chat_template: ChatTemplate,
    /// How the model calls tools; `None` for one that calls none.
    pub tools: Option<ToolSettings>,
    /// How reasoning is marked in the output; `None` where it is not.
    pub reasoning: Option<ReasoningParser>,
    /// Sampling parameters of a request that states none.
    pub sampling: SamplingDefaults,
    /// Where the spec departs from its checkpoint's config, or from the architecture, on purpose.
    pub deviations: &'static [Deviation],
}

/// A statement of a spec that departs from the checkpoint's config, or from the architecture, on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The key of MODEL.toml.
    pub key: &'static str,
    /// What the spec says, as it is written there.
    pub value: &'static str,
    /// Why.
    pub reason: &'static str,
}

impl std::fmt::Display for Deviation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {}: {}", self.key, self.value, self.reason)
    }
}

impl ModelInfo {
    /// Bytes of KV cache per token over all layers, with a cache of this dtype.
    pub const fn kv_bytes_per_token(&self, dtype: KvDtypeName) -> usize {
        self.kv_elements_per_token * dtype.bytes() + self.kv_fixed_bytes_per_token
    }
}

/// The KV cache of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvLayer {
    /// Of the dtype chosen at load.
    Chosen,
    /// Of this dtype, whatever is chosen.
    Fixed(KvDtypeName),
    /// The layer has none.
    None,
}

/// Where the chat template comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatTemplate {
    /// The checkpoint's own.
    Checkpoint,
    /// The spec's: the text of a file beside MODEL.toml.
    Spec(&'static str),
    /// The model has no chat format: prompts are completed as they are.
    None,
}

/// Sampling parameters that a spec states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingDefaults {
    /// 0 is greedy.
    pub temperature: f32,
    /// Nucleus mass, 1 is all.
    pub top_p: f32,
    /// Most likely tokens kept, 0 is all.
    pub top_k: u32,
}

/// How to load a model onto the CPU.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Worker threads, this one included.
    pub threads: usize,
    /// Instruction set of the kernels.
    pub isa: Isa,
    /// One of [`ModelInfo::kv_cache_dtypes`]; others are refused.
    pub kv_cache_dtype: KvDtypeName,
    /// Tokens per page, a multiple of 16.
    pub page_size: usize,
    /// Pages of every layer's cache.
    pub pages: usize,
    /// Sequences whose recurrent state is kept; not read where no layer is recurrent.
    pub state_slots: usize,
    /// Snapshots of recurrent states; not read where no layer is recurrent.
    pub snapshots: usize,
    /// Most tokens in one step.
    pub max_batch_tokens: usize,
    /// Most rows of logits in one step.
    pub max_logit_rows: usize,
    /// A longer context than the spec's, where somebody overrides it on purpose; `None` is the spec's.
    pub max_positions: Option<usize>,
}

impl LoadOptions {
    /// What a batch may contain under these options, for a model with this vocabulary, context and number of state slots.
    ///
    /// # Errors
    /// [`LoadError::Option`] when a number is zero, or a page is not a multiple of 16 tokens.
    pub fn limits(&self, vocab_size: usize, max_positions: usize, state_slots: usize) -> Result<BatchLimits, LoadError> {
        for (name, value) in [
            ("number of threads", self.threads),
            ("page size", self.page_size),
            ("number of pages", self.pages),
            ("number of tokens in a step", self.max_batch_tokens),
            ("number of logit rows in a step", self.max_logit_rows),
        ] {
            if value == 0 {
                return Err(LoadError::Option { message: format!("the {name} is 0, and must be at least 1") });
            }
        }
        if !self.page_size.is_multiple_of(PAGE_MULTIPLE) {
            let message = format!(
                "the page size is {}, and must be a multiple of {PAGE_MULTIPLE}, the tile over which attention sums",
                self.page_size
            );
            return Err(LoadError::Option { message });
        }
        if u32::try_from(state_slots.max(self.snapshots)).is_err() {
            let message = format!("{state_slots} state slots and {} snapshots do not fit into 32-bit ids", self.snapshots);
            return Err(LoadError::Option { message });
        }
        if u32::try_from(self.pages).is_err() {
            return Err(LoadError::Option { message: format!("{} pages do not fit into 32-bit page ids", self.pages) });
        }
        Ok(BatchLimits {
            vocab_size,
            max_positions: self.max_positions.unwrap_or(max_positions),
            page_size: self.page_size,
            pages: self.pages,
            state_slots,
            max_tokens: self.max_batch_tokens,
            max_logit_rows: self.max_logit_rows,
        })
    }

    /// The same for a model with recurrent layers, of which every sequence needs a state slot.
    ///
    /// # Errors
    /// Those of [`Self::limits`], and when there is no slot.
    pub fn recurrent_limits(&self, vocab_size: usize, max_positions: usize) -> Result<BatchLimits, LoadError> {
        if self.state_slots == 0 {
            let message = "the number of state slots is 0, and each sequence of a recurrent model needs one".to_owned();
            return Err(LoadError::Option { message });
        }
        self.limits(vocab_size, max_positions, self.state_slots)
    }
}

/// A page holds a whole number of the position tiles over which attention sums.
pub const PAGE_MULTIPLE: usize = 16;

/// Loads a model for one target.
pub type Load = fn(&Arc<Checkpoint>, &LoadOptions) -> Result<Box<dyn Model>, LoadError>;

/// Loads a model onto a device.
#[cfg(feature = "cuda")]
pub type LoadOnDevice = fn(&Arc<Checkpoint>, &Arc<Device>, &LoadOptions) -> Result<Box<dyn Model>, LoadError>;

/// A model that was compiled for a device.
#[cfg(feature = "cuda")]
#[derive(Clone, Copy, Debug)]
pub struct OnDevice {
    /// Loads it.
    pub load: LoadOnDevice,
    /// Cache dtypes for which it was compiled, the default first.
    pub kv_cache_dtypes: &'static [KvDtypeName],
    /// Most sequences of one step for which it was compiled.
    pub max_sequences: usize,
}

/// One compiled model.
#[derive(Clone, Copy, Debug)]
pub struct ModelEntry {
    /// Its constants.
    pub info: &'static ModelInfo,
    /// Loads it onto the CPU, where the spec lists that target.
    pub cpu: Option<Load>,
    /// Loads it onto a GPU of compute capability 9.0, where the spec lists that target.
    #[cfg(feature = "cuda")]
    pub sm_90a: Option<OnDevice>,
    /// What a step on the CPU computes in.
    pub workspace: &'static Workspace,
    /// What its checkpoint must be.
    pub checkpoint: &'static CheckpointNeeds,
    /// The compiled plan, as text.
    pub plan: &'static str,
    /// The facts of the plan for programs: a JSON object.
    pub facts: &'static str,
}

impl ModelEntry {
    /// What the model needs with the weights of this checkpoint, of which only headers are read.
    ///
    /// # Errors
    /// When the checkpoint differs from the plan, as at load.
    pub fn needs(&self, checkpoint: &Checkpoint) -> Result<Needs, LoadError> {
        let info = self.info;
        let kv = |dtype: &KvDtypeName| KvNeed { dtype: dtype.as_str(), bytes_per_token: info.kv_bytes_per_token(*dtype) as u64 };
        Ok(Needs {
            model: info.name.to_owned(),
            weights: self.checkpoint.held(checkpoint)?,
            kv: info.kv_cache_dtypes.iter().map(kv).collect(),
            state_bytes: info.state_bytes_per_slot as u64,
            vocab_size: info.vocab_size as u64,
            max_context: info.max_position_embeddings as u64,
            workspace: self.workspace.clone(),
        })
    }
}

/// Logits of the rows that a batch asked for, `[rows, vocab_size]`, in the order in which the batch names them.
#[derive(Clone, Debug)]
pub struct Logits {
    data: Vec<f32>,
    vocab_size: usize,
    rows: usize,
}

impl Logits {
    /// Room for `max_rows` rows of a model with this vocabulary.
    pub fn new(info: &ModelInfo, max_rows: usize) -> Self {
        Self { data: vec![0.0; max_rows * info.vocab_size], vocab_size: info.vocab_size, rows: 0 }
    }

    /// Rows written by the last step.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Logits of row `r`, one per token id.
    pub fn row(&self, r: usize) -> &[f32] {
        assert!(r < self.rows, "logit row {r} of {}", self.rows);
        &self.data[r * self.vocab_size..][..self.vocab_size]
    }

    /// Copies the head's output. Called by generated code at the end of a step.
    ///
    /// # Panics
    /// If the model's vocabulary is not the one that these logits were made for.
    pub fn write<const VOCAB: usize>(&mut self, rows: &Rows<f32, VOCAB>) {
        self.room::<VOCAB>(rows.rows()).copy_from_slice(rows.as_slice());
    }

    /// The elements of so many rows, to be written.
    ///
    /// # Panics
    /// As [`Self::write`].
    pub(crate) fn room<const VOCAB: usize>(&mut self, rows: usize) -> &mut [f32] {
        assert_eq!(VOCAB, self.vocab_size, "logits were made for another model");
        self.rows = rows;
        let wanted = rows * VOCAB;
        if self.data.len() < wanted {
            self.data.resize(wanted, 0.0);
        }
        &mut self.data[..wanted]
    }
}
