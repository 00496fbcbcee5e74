//! qwen3-8b: what the model is. 8,190,735,360 parameters.
//! Generated from model-specs/qwen3-8b; edit the TOMLs there, then `cargo build`.

/// One step on cpu.
pub mod cpu;
mod cpu_memory;
/// One step on sm_90a.
#[cfg(feature = "cuda")]
mod sm_90a;
#[cfg(feature = "cuda")]
mod sm_90a_model;
#[cfg(feature = "cuda")]
mod sm_90a_kernels;
#[cfg(feature = "cuda")]
mod sm_90a_memory;
#[cfg(feature = "cuda")]
mod sm_90a_weights;
mod config;
/// Which layers are what.
pub mod layers;
/// Tensors of the checkpoint.
pub mod tensors;
/// Weights as they are kept.
pub mod weights;

use tenon_core::dtype::KvDtypeName;
use tenon_core::model::{
    ChatTemplate, KvLayer, ModelEntry, ModelInfo, PullSource, ReasoningParser,
    SamplingDefaults, ToolParser, ToolSettings,
};
use tenon_core::rope::{Halves, Rope, RopeScaling};
use tenon_core::scale::SoftmaxScale;
use tenon_core::weights::{CheckpointKind, CheckpointNeeds};
#[cfg(feature = "cuda")]
use tenon_core::model::OnDevice;

pub use config::CONFIG;

/// Width of the residual stream.
pub const HIDDEN_SIZE: usize = 4096;
/// Rows of the embedding.
pub const VOCAB_SIZE: usize = 151936;
/// Layers.
pub const NUM_HIDDEN_LAYERS: usize = 36;
/// Longest context, in tokens.
pub const MAX_POSITION_EMBEDDINGS: usize = 40960;
/// Added to the mean square under the root of every norm.
pub const RMS_NORM_EPS: f32 = 1e-6;
/// Embeddings included; a tied head counts once.
pub const PARAMETERS: u64 = 8190735360;

/// Query heads.
pub const NUM_ATTENTION_HEADS: usize = 32;
/// Key-value heads.
pub const NUM_KEY_VALUE_HEADS: usize = 8;
/// Elements of a head.
pub const HEAD_DIM: usize = 128;
/// `rsqrt(head_dim)` = 1 / sqrt(128)
pub const SOFTMAX_SCALE: SoftmaxScale = SoftmaxScale::rsqrt(128, 0.088388346);
/// The first 128 elements of every head, in halves.
pub const ROPE: Rope<128, Halves> = Rope::new(1000000.0, RopeScaling::None);

/// Width between gate and down.
pub const INTERMEDIATE_SIZE: usize = 12288;

/// What the cache may be, the default first.
pub const KV_CACHE_DTYPES: [KvDtypeName; 2] = [KvDtypeName::Bf16, KvDtypeName::F32];
/// The cache of each layer.
pub const KV_CACHE_LAYERS: [KvLayer; NUM_HIDDEN_LAYERS] = [KvLayer::Chosen; NUM_HIDDEN_LAYERS];
/// What the cache may be on sm_90a, the default first.
#[cfg(feature = "cuda")]
pub const SM_90A_KV_CACHE_DTYPES: [KvDtypeName; 1] = [KvDtypeName::Bf16];

/// Constants for the engine and the server.
pub const INFO: ModelInfo = ModelInfo {
    name: "qwen3-8b",
    source: "Qwen/Qwen3-8B",
    parameters: PARAMETERS,
    vocab_size: VOCAB_SIZE,
    max_position_embeddings: MAX_POSITION_EMBEDDINGS,
    kv_cache_dtypes: &KV_CACHE_DTYPES,
    kv_elements_per_token: 73728,
    kv_fixed_bytes_per_token: 0,
    state_bytes_per_slot: 0,
    pull: &[
        PullSource::HuggingFace {
            repo: "Qwen/Qwen3-8B",
            file: None,
            sha256: None,
        },
    ],
    chat_template: ChatTemplate::Checkpoint,
    tools: Some(ToolSettings {
        parser: ToolParser::Hermes,
        skip_template_tools: false,
        steering: true,
        thinking: true,
    }),
    reasoning: Some(ReasoningParser::Think),
    sampling: SamplingDefaults {
        temperature: 0.6,
        top_p: 0.95,
        top_k: 20,
    },
    deviations: &[],
};

/// What the server lists and loads.
pub const ENTRY: ModelEntry = ModelEntry {
    info: &INFO,
    cpu: Some(cpu::load),
    #[cfg(feature = "cuda")]
    sm_90a: Some(OnDevice {
        load: sm_90a_model::load,
        kv_cache_dtypes: &SM_90A_KV_CACHE_DTYPES,
        max_sequences: sm_90a_memory::PLAN.sequences,
    }),
    workspace: &cpu_memory::WORKSPACE,
    checkpoint: &CheckpointNeeds {
        kind: CheckpointKind::Hf,
        tensors: &tensors::TENSORS,
        config: &CONFIG,
    },
    plan: include_str!("plan.txt"),
    facts: include_str!("plan.json"),
};

const _: () = assert!(NUM_ATTENTION_HEADS.is_multiple_of(NUM_KEY_VALUE_HEADS));
const _: () = assert!(128 <= HEAD_DIM);
const _: () = assert!(
    layers::BLOCK_LAYERS[layers::BLOCK_LAYERS.len() - 1] < NUM_HIDDEN_LAYERS
);
const _: () = assert!(layers::BLOCK_LAYERS.len() == NUM_HIDDEN_LAYERS);
