//! qwen3.5-122b-a10b: what the model is. 122,111,526,912 parameters.
//! Generated from model-specs/qwen3.5-122b-a10b; edit the TOMLs there, then `cargo build`.

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
use tenon_core::moe::{Router, RouterScores};
use tenon_core::rope::{Halves, Rope, RopeScaling};
use tenon_core::scale::SoftmaxScale;
use tenon_core::weights::{CheckpointKind, CheckpointNeeds};
#[cfg(feature = "cuda")]
use tenon_core::model::OnDevice;

pub use config::CONFIG;

/// Width of the residual stream.
pub const HIDDEN_SIZE: usize = 3072;
/// Rows of the embedding.
pub const VOCAB_SIZE: usize = 248320;
/// Layers.
pub const NUM_HIDDEN_LAYERS: usize = 48;
/// Longest context, in tokens.
pub const MAX_POSITION_EMBEDDINGS: usize = 262144;
/// Added to the mean square under the root of every norm.
pub const RMS_NORM_EPS: f32 = 1e-6;
/// Embeddings included; a tied head counts once.
pub const PARAMETERS: u64 = 122111526912;

/// Heads of queries and keys.
pub const DELTA_NET_LINEAR_NUM_KEY_HEADS: usize = 16;
/// Elements of a query and of a key.
pub const DELTA_NET_LINEAR_KEY_HEAD_DIM: usize = 128;
/// Heads of values.
pub const DELTA_NET_LINEAR_NUM_VALUE_HEADS: usize = 64;
/// Elements of a value.
pub const DELTA_NET_LINEAR_VALUE_HEAD_DIM: usize = 128;
/// Tokens that the convolution sees.
pub const DELTA_NET_LINEAR_CONV_KERNEL_DIM: usize = 4;

/// Query heads.
pub const ATTENTION_NUM_ATTENTION_HEADS: usize = 32;
/// Key-value heads.
pub const ATTENTION_NUM_KEY_VALUE_HEADS: usize = 2;
/// Elements of a head.
pub const ATTENTION_HEAD_DIM: usize = 256;
/// `rsqrt(head_dim)` = 1 / sqrt(256)
pub const ATTENTION_SOFTMAX_SCALE: SoftmaxScale = SoftmaxScale::rsqrt(256, 0.0625);
/// The first 64 elements of every head, in halves.
pub const ATTENTION_ROPE: Rope<64, Halves> = Rope::new(10000000.0, RopeScaling::None);

/// Routed experts.
pub const N_ROUTED_EXPERTS: usize = 256;
/// Experts of a token.
pub const NUM_EXPERTS_PER_TOK: usize = 8;
/// Width inside an expert.
pub const MOE_INTERMEDIATE_SIZE: usize = 1024;
/// Width inside the shared expert.
pub const SHARED_EXPERT_INTERMEDIATE_SIZE: usize = 1024;
/// How experts are chosen and weighed.
pub const ROUTER: Router<256, 8> = Router::new(RouterScores::Softmax, true, 1.0);

/// What the cache may be, the default first.
pub const KV_CACHE_DTYPES: [KvDtypeName; 2] = [KvDtypeName::Bf16, KvDtypeName::F32];
/// The cache of each layer.
pub const KV_CACHE_LAYERS: [KvLayer; NUM_HIDDEN_LAYERS] = [
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
];
/// What the cache may be on sm_90a, the default first.
#[cfg(feature = "cuda")]
pub const SM_90A_KV_CACHE_DTYPES: [KvDtypeName; 1] = [KvDtypeName::Bf16];

/// Constants for the engine and the server.
pub const INFO: ModelInfo = ModelInfo {
    name: "qwen3.5-122b-a10b",
    source: "Qwen/Qwen3.5-122B-A10B",
    parameters: PARAMETERS,
    vocab_size: VOCAB_SIZE,
    max_position_embeddings: MAX_POSITION_EMBEDDINGS,
    kv_cache_dtypes: &KV_CACHE_DTYPES,
    kv_elements_per_token: 12288,
    kv_fixed_bytes_per_token: 0,
    state_bytes_per_slot: 156303360,
    pull: &[
        PullSource::HuggingFace {
            repo: "Qwen/Qwen3.5-122B-A10B",
            file: None,
            sha256: None,
        },
    ],
    chat_template: ChatTemplate::Checkpoint,
    tools: Some(ToolSettings {
        parser: ToolParser::Qwen3Coder,
        skip_template_tools: false,
        steering: true,
        thinking: true,
    }),
    reasoning: Some(ReasoningParser::Think),
    sampling: SamplingDefaults {
        temperature: 1.0,
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

const _: () = assert!(
    DELTA_NET_LINEAR_NUM_VALUE_HEADS.is_multiple_of(DELTA_NET_LINEAR_NUM_KEY_HEADS)
);
const _: () = assert!(
    ATTENTION_NUM_ATTENTION_HEADS.is_multiple_of(ATTENTION_NUM_KEY_VALUE_HEADS)
);
const _: () = assert!(64 <= ATTENTION_HEAD_DIM);
const _: () = assert!(NUM_EXPERTS_PER_TOK <= N_ROUTED_EXPERTS);
const _: () = assert!(
    layers::BLOCK_LINEAR_LAYERS[layers::BLOCK_LINEAR_LAYERS.len() - 1] <
    NUM_HIDDEN_LAYERS
);
const _: () = assert!(
    layers::FULL_LAYERS[layers::FULL_LAYERS.len() - 1] < NUM_HIDDEN_LAYERS
);
const _: () = assert!(
    layers::BLOCK_LINEAR_LAYERS.len() + layers::FULL_LAYERS.len() == NUM_HIDDEN_LAYERS
);
const _: () = assert!(layers::PATTERN.len() == NUM_HIDDEN_LAYERS);
