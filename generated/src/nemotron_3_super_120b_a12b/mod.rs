//! nemotron-3-super-120b-a12b: what the model is. 120,668,687,360 parameters.
//! Generated from model-specs/nemotron-3-super-120b-a12b; edit the TOMLs there, then `cargo build`.

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
use tenon_core::scale::SoftmaxScale;
use tenon_core::weights::{CheckpointKind, CheckpointNeeds};
#[cfg(feature = "cuda")]
use tenon_core::model::OnDevice;

pub use config::CONFIG;

/// Width of the residual stream.
pub const HIDDEN_SIZE: usize = 4096;
/// Rows of the embedding.
pub const VOCAB_SIZE: usize = 131072;
/// Layers.
pub const NUM_HIDDEN_LAYERS: usize = 88;
/// Longest context, in tokens.
pub const MAX_POSITION_EMBEDDINGS: usize = 262144;
/// Added to the mean square under the root of every norm.
pub const RMS_NORM_EPS: f32 = 1e-5;
/// Embeddings included; a tied head counts once.
pub const PARAMETERS: u64 = 120668687360;

/// Heads.
pub const MAMBA_MAMBA_NUM_HEADS: usize = 128;
/// Elements of a head.
pub const MAMBA_MAMBA_HEAD_DIM: usize = 64;
/// Elements of a row of the state.
pub const MAMBA_SSM_STATE_SIZE: usize = 128;
/// Groups of heads that share B and C.
pub const MAMBA_N_GROUPS: usize = 8;
/// Tokens that the convolution sees.
pub const MAMBA_CONV_KERNEL: usize = 4;
/// Tokens of a chunk of the scan.
pub const MAMBA_CHUNK_SIZE: usize = 128;
/// Lower bound of the time step.
pub const MAMBA_TIME_STEP_MIN: f32 = 0.001;

/// Query heads.
pub const ATTENTION_NUM_ATTENTION_HEADS: usize = 32;
/// Key-value heads.
pub const ATTENTION_NUM_KEY_VALUE_HEADS: usize = 2;
/// Elements of a head.
pub const ATTENTION_HEAD_DIM: usize = 128;
/// `rsqrt(head_dim)` = 1 / sqrt(128)
pub const ATTENTION_SOFTMAX_SCALE: SoftmaxScale = SoftmaxScale::rsqrt(128, 0.088388346);

/// Routed experts.
pub const N_ROUTED_EXPERTS: usize = 512;
/// Experts of a token.
pub const NUM_EXPERTS_PER_TOK: usize = 22;
/// Width inside an expert.
pub const MOE_INTERMEDIATE_SIZE: usize = 2688;
/// Width in which routed experts work.
pub const MOE_LATENT_SIZE: usize = 1024;
/// Width inside the shared expert.
pub const SHARED_EXPERT_INTERMEDIATE_SIZE: usize = 5376;
/// How experts are chosen and weighed.
pub const ROUTER: Router<512, 22> = Router::new(RouterScores::Sigmoid, true, 5.0);

/// What the cache may be, the default first.
pub const KV_CACHE_DTYPES: [KvDtypeName; 2] = [KvDtypeName::Bf16, KvDtypeName::F32];
/// The cache of each layer.
pub const KV_CACHE_LAYERS: [KvLayer; NUM_HIDDEN_LAYERS] = [
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::Chosen,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
    KvLayer::None,
];
/// What the cache may be on sm_90a, the default first.
#[cfg(feature = "cuda")]
pub const SM_90A_KV_CACHE_DTYPES: [KvDtypeName; 1] = [KvDtypeName::Bf16];

/// Constants for the engine and the server.
pub const INFO: ModelInfo = ModelInfo {
    name: "nemotron-3-super-120b-a12b",
    source: "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16",
    parameters: PARAMETERS,
    vocab_size: VOCAB_SIZE,
    max_position_embeddings: MAX_POSITION_EMBEDDINGS,
    kv_cache_dtypes: &KV_CACHE_DTYPES,
    kv_elements_per_token: 4096,
    kv_fixed_bytes_per_token: 0,
    state_bytes_per_slot: 172687360,
    pull: &[
        PullSource::HuggingFace {
            repo: "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16",
            file: None,
            sha256: None,
        },
    ],
    chat_template: ChatTemplate::Checkpoint,
    tools: Some(ToolSettings {
        parser: ToolParser::BareJson,
        skip_template_tools: true,
        steering: false,
        thinking: true,
    }),
    reasoning: Some(ReasoningParser::Think),
    sampling: SamplingDefaults {
        temperature: 1.0,
        top_p: 0.95,
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

const _: () = assert!(MAMBA_MAMBA_NUM_HEADS.is_multiple_of(MAMBA_N_GROUPS));
const _: () = assert!(
    ATTENTION_NUM_ATTENTION_HEADS.is_multiple_of(ATTENTION_NUM_KEY_VALUE_HEADS)
);
const _: () = assert!(NUM_EXPERTS_PER_TOK <= N_ROUTED_EXPERTS);
const _: () = assert!(
    layers::MAMBA_LAYERS[layers::MAMBA_LAYERS.len() - 1] < NUM_HIDDEN_LAYERS
);
const _: () = assert!(
    layers::EXPERTS_LAYERS[layers::EXPERTS_LAYERS.len() - 1] < NUM_HIDDEN_LAYERS
);
const _: () = assert!(
    layers::BLOCK_ATTENTION_LAYERS[layers::BLOCK_ATTENTION_LAYERS.len() - 1] <
    NUM_HIDDEN_LAYERS
);
const _: () = assert!(
    layers::MAMBA_LAYERS.len() + layers::EXPERTS_LAYERS.len() +
    layers::BLOCK_ATTENTION_LAYERS.len() == NUM_HIDDEN_LAYERS
);
const _: () = assert!(layers::PATTERN.len() == NUM_HIDDEN_LAYERS);
