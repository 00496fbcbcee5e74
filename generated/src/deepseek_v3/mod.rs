//! deepseek-v3: what the model is. 671,026,404,352 parameters.
//! Generated from model-specs/deepseek-v3; edit the TOMLs there, then `cargo build`.

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
    ChatTemplate, KvLayer, ModelEntry, ModelInfo, PullSource, SamplingDefaults,
    ToolParser, ToolSettings,
};
use tenon_core::moe::{GroupScore, Router, RouterScores};
use tenon_core::rope::{Interleaved, Rope, RopeScaling};
use tenon_core::scale::SoftmaxScale;
use tenon_core::weights::{CheckpointKind, CheckpointNeeds};
#[cfg(feature = "cuda")]
use tenon_core::model::OnDevice;

pub use config::CONFIG;

/// Width of the residual stream.
pub const HIDDEN_SIZE: usize = 7168;
/// Rows of the embedding.
pub const VOCAB_SIZE: usize = 129280;
/// Layers.
pub const NUM_HIDDEN_LAYERS: usize = 61;
/// Longest context, in tokens.
pub const MAX_POSITION_EMBEDDINGS: usize = 163840;
/// Added to the mean square under the root of every norm.
pub const RMS_NORM_EPS: f32 = 1e-6;
/// Embeddings included; a tied head counts once.
pub const PARAMETERS: u64 = 671026404352;

/// Heads.
pub const NUM_ATTENTION_HEADS: usize = 128;
/// Width between the two projections of q.
pub const Q_LORA_RANK: usize = 1536;
/// Width of the latent from which keys and values are made.
pub const KV_LORA_RANK: usize = 512;
/// Elements of a key that are made from the latent.
pub const QK_NOPE_HEAD_DIM: usize = 128;
/// Elements of a key that are rotated, shared by all heads.
pub const QK_ROPE_HEAD_DIM: usize = 64;
/// Elements of a value.
pub const V_HEAD_DIM: usize = 128;
/// The eps of the norms over latents.
pub const LATENT_RMS_NORM_EPS: f32 = 1e-6;
/// `rsqrt(qk_nope_head_dim + qk_rope_head_dim) * yarn_mscale(factor, mscale_all_dim)^2` = yarn_mscale(40, 1)^2 / sqrt(192)
pub const SOFTMAX_SCALE: SoftmaxScale = SoftmaxScale::rsqrt_yarn(
    192,
    40.0,
    1.0,
    0.13523377,
);
/// The last 64 elements of every head, in neighbours.
pub const ROPE: Rope<64, Interleaved> = Rope::new(
    10000.0,
    RopeScaling::Yarn {
        factor: 40.0,
        original_max_position_embeddings: 4096,
        beta_fast: 32.0,
        beta_slow: 1.0,
        truncate: true,
        attention_factor: 1.0,
    },
);

/// Width between gate and down.
pub const MLP_INTERMEDIATE_SIZE: usize = 18432;

/// Routed experts.
pub const EXPERTS_N_ROUTED_EXPERTS: usize = 256;
/// Experts of a token.
pub const EXPERTS_NUM_EXPERTS_PER_TOK: usize = 8;
/// Width inside an expert.
pub const EXPERTS_MOE_INTERMEDIATE_SIZE: usize = 2048;
/// Width inside the shared expert.
pub const EXPERTS_SHARED_EXPERT_INTERMEDIATE_SIZE: usize = 2048;
/// How experts are chosen and weighed.
pub const EXPERTS_ROUTER: Router<256, 8> = Router::new(RouterScores::Sigmoid, true, 2.5)
    .groups(8, 4, GroupScore::Top2);

/// What the cache may be, the default first.
pub const KV_CACHE_DTYPES: [KvDtypeName; 2] = [KvDtypeName::Bf16, KvDtypeName::F32];
/// The cache of each layer.
pub const KV_CACHE_LAYERS: [KvLayer; NUM_HIDDEN_LAYERS] = [KvLayer::Chosen; NUM_HIDDEN_LAYERS];
/// What the cache may be on sm_90a, the default first.
#[cfg(feature = "cuda")]
pub const SM_90A_KV_CACHE_DTYPES: [KvDtypeName; 1] = [KvDtypeName::Bf16];

/// Constants for the engine and the server.
pub const INFO: ModelInfo = ModelInfo {
    name: "deepseek-v3",
    source: "deepseek-ai/DeepSeek-V3",
    parameters: PARAMETERS,
    vocab_size: VOCAB_SIZE,
    max_position_embeddings: MAX_POSITION_EMBEDDINGS,
    kv_cache_dtypes: &KV_CACHE_DTYPES,
    kv_elements_per_token: 35136,
    kv_fixed_bytes_per_token: 0,
    state_bytes_per_slot: 0,
    pull: &[
        PullSource::HuggingFace {
            repo: "deepseek-ai/DeepSeek-V3",
            file: None,
            sha256: None,
        },
    ],
    chat_template: ChatTemplate::Checkpoint,
    tools: Some(ToolSettings {
        parser: ToolParser::Deepseek,
        skip_template_tools: false,
        steering: true,
        thinking: false,
    }),
    reasoning: None,
    sampling: SamplingDefaults {
        temperature: 0.6,
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

const _: () = assert!(64 == QK_ROPE_HEAD_DIM);
const _: () = assert!(EXPERTS_NUM_EXPERTS_PER_TOK <= EXPERTS_N_ROUTED_EXPERTS);
const _: () = assert!(
    layers::DENSE_LAYERS[layers::DENSE_LAYERS.len() - 1] < NUM_HIDDEN_LAYERS
);
const _: () = assert!(
    layers::SPARSE_LAYERS[layers::SPARSE_LAYERS.len() - 1] < NUM_HIDDEN_LAYERS
);
const _: () = assert!(
    layers::DENSE_LAYERS.len() + layers::SPARSE_LAYERS.len() == NUM_HIDDEN_LAYERS
);
