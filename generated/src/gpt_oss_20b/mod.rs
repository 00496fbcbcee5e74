//! gpt-oss-20b: what the model is. 20,914,757,184 parameters.
//! Generated from model-specs/gpt-oss-20b; edit the TOMLs there, then `cargo build`.

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
pub const HIDDEN_SIZE: usize = 2880;
/// Rows of the embedding.
pub const VOCAB_SIZE: usize = 201088;
/// Layers.
pub const NUM_HIDDEN_LAYERS: usize = 24;
/// Longest context, in tokens.
pub const MAX_POSITION_EMBEDDINGS: usize = 131072;
/// Added to the mean square under the root of every norm.
pub const RMS_NORM_EPS: f32 = 1e-5;
/// Embeddings included; a tied head counts once.
pub const PARAMETERS: u64 = 20914757184;

/// Query heads.
pub const LOCAL_NUM_ATTENTION_HEADS: usize = 64;
/// Key-value heads.
pub const LOCAL_NUM_KEY_VALUE_HEADS: usize = 8;
/// Elements of a head.
pub const LOCAL_HEAD_DIM: usize = 64;
/// `rsqrt(head_dim)` = 1 / sqrt(64)
pub const LOCAL_SOFTMAX_SCALE: SoftmaxScale = SoftmaxScale::rsqrt(64, 0.125);
/// Tokens that a query sees, itself included.
pub const LOCAL_SLIDING_WINDOW: usize = 128;
/// The first 64 elements of every head, in halves.
pub const LOCAL_ROPE: Rope<64, Halves> = Rope::new(
    150000.0,
    RopeScaling::Yarn {
        factor: 32.0,
        original_max_position_embeddings: 4096,
        beta_fast: 32.0,
        beta_slow: 1.0,
        truncate: false,
        attention_factor: 1.3465736,
    },
);

/// Query heads.
pub const FULL_NUM_ATTENTION_HEADS: usize = 64;
/// Key-value heads.
pub const FULL_NUM_KEY_VALUE_HEADS: usize = 8;
/// Elements of a head.
pub const FULL_HEAD_DIM: usize = 64;
/// `rsqrt(head_dim)` = 1 / sqrt(64)
pub const FULL_SOFTMAX_SCALE: SoftmaxScale = SoftmaxScale::rsqrt(64, 0.125);

/// Routed experts.
pub const N_ROUTED_EXPERTS: usize = 32;
/// Experts of a token.
pub const NUM_EXPERTS_PER_TOK: usize = 4;
/// Width inside an expert.
pub const MOE_INTERMEDIATE_SIZE: usize = 2880;
/// Bound of gate and up.
pub const SWIGLU_LIMIT: f32 = 7.0;
/// Factor inside the sigmoid of the gate.
pub const SWIGLU_ALPHA: f32 = 1.702;
/// How experts are chosen and weighed.
pub const ROUTER: Router<32, 4> = Router::new(RouterScores::Softmax, true, 1.0);

/// What the cache may be, the default first.
pub const KV_CACHE_DTYPES: [KvDtypeName; 2] = [KvDtypeName::Bf16, KvDtypeName::F32];
/// The cache of each layer.
pub const KV_CACHE_LAYERS: [KvLayer; NUM_HIDDEN_LAYERS] = [KvLayer::Chosen; NUM_HIDDEN_LAYERS];
/// What the cache may be on sm_90a, the default first.
#[cfg(feature = "cuda")]
pub const SM_90A_KV_CACHE_DTYPES: [KvDtypeName; 1] = [KvDtypeName::Bf16];

/// Constants for the engine and the server.
pub const INFO: ModelInfo = ModelInfo {
    name: "gpt-oss-20b",
    source: "openai/gpt-oss-20b",
    parameters: PARAMETERS,
    vocab_size: VOCAB_SIZE,
    max_position_embeddings: MAX_POSITION_EMBEDDINGS,
    kv_cache_dtypes: &KV_CACHE_DTYPES,
    kv_elements_per_token: 24576,
    kv_fixed_bytes_per_token: 0,
    state_bytes_per_slot: 0,
    pull: &[
        PullSource::HuggingFace {
            repo: "openai/gpt-oss-20b",
            file: None,
            sha256: None,
        },
    ],
    chat_template: ChatTemplate::Checkpoint,
    tools: Some(ToolSettings {
        parser: ToolParser::GptOss,
        skip_template_tools: false,
        steering: true,
        thinking: true,
    }),
    reasoning: Some(ReasoningParser::Harmony),
    sampling: SamplingDefaults {
        temperature: 1.0,
        top_p: 1.0,
        top_k: 0,
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
    LOCAL_NUM_ATTENTION_HEADS.is_multiple_of(LOCAL_NUM_KEY_VALUE_HEADS)
);
const _: () = assert!(64 <= LOCAL_HEAD_DIM);
const _: () = assert!(FULL_NUM_ATTENTION_HEADS.is_multiple_of(FULL_NUM_KEY_VALUE_HEADS));
const _: () = assert!(64 <= FULL_HEAD_DIM);
const _: () = assert!(NUM_EXPERTS_PER_TOK <= N_ROUTED_EXPERTS);
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
