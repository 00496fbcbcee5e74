//! mistral-small-4: what the model is. 118,972,826,624 parameters.
//! Generated from model-specs/mistral-small-4; edit the TOMLs there, then `cargo build`.

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
use tenon_core::rope::{Interleaved, Rope, RopeScaling};
use tenon_core::scale::{QueryScale, SoftmaxScale};
use tenon_core::weights::{CheckpointKind, CheckpointNeeds};
#[cfg(feature = "cuda")]
use tenon_core::model::OnDevice;

pub use config::CONFIG;

/// Width of the residual stream.
pub const HIDDEN_SIZE: usize = 4096;
/// Rows of the embedding.
pub const VOCAB_SIZE: usize = 131072;
/// Layers.
pub const NUM_HIDDEN_LAYERS: usize = 36;
/// Longest context, in tokens.
pub const MAX_POSITION_EMBEDDINGS: usize = 1048576;
/// Added to the mean square under the root of every norm.
pub const RMS_NORM_EPS: f32 = 1e-6;
/// Embeddings included; a tied head counts once.
pub const PARAMETERS: u64 = 118972826624;

/// Heads.
pub const NUM_ATTENTION_HEADS: usize = 32;
/// Width between the two projections of q.
pub const Q_LORA_RANK: usize = 1024;
/// Width of the latent from which keys and values are made.
pub const KV_LORA_RANK: usize = 256;
/// Elements of a key that are made from the latent.
pub const QK_NOPE_HEAD_DIM: usize = 64;
/// Elements of a key that are rotated, shared by all heads.
pub const QK_ROPE_HEAD_DIM: usize = 64;
/// Elements of a value.
pub const V_HEAD_DIM: usize = 128;
/// The eps of the norms over latents.
pub const LATENT_RMS_NORM_EPS: f32 = 1e-6;
/// `rsqrt(qk_nope_head_dim + qk_rope_head_dim) * yarn_mscale(factor, mscale_all_dim)^2` = yarn_mscale(128, 1)^2 / sqrt(128)
pub const SOFTMAX_SCALE: SoftmaxScale = SoftmaxScale::rsqrt_yarn(
    128,
    128.0,
    1.0,
    0.19496949,
);
/// Queries grow with their position: `1 + beta ln(1 + floor(position / original))`.
pub const QUERY_SCALE: QueryScale = QueryScale::new(0.1, 8192);
/// The last 64 elements of every head, in neighbours.
pub const ROPE: Rope<64, Interleaved> = Rope::new(
    10000.0,
    RopeScaling::Yarn {
        factor: 128.0,
        original_max_position_embeddings: 8192,
        beta_fast: 32.0,
        beta_slow: 1.0,
        truncate: true,
        attention_factor: 1.0,
    },
);

/// Routed experts.
pub const N_ROUTED_EXPERTS: usize = 128;
/// Experts of a token.
pub const NUM_EXPERTS_PER_TOK: usize = 4;
/// Width inside an expert.
pub const MOE_INTERMEDIATE_SIZE: usize = 2048;
/// Width inside the shared expert.
pub const SHARED_EXPERT_INTERMEDIATE_SIZE: usize = 2048;
/// How experts are chosen and weighed.
pub const ROUTER: Router<128, 4> = Router::new(RouterScores::Softmax, true, 1.0);

/// What the cache may be, the default first.
pub const KV_CACHE_DTYPES: [KvDtypeName; 2] = [KvDtypeName::Bf16, KvDtypeName::F32];
/// The cache of each layer.
pub const KV_CACHE_LAYERS: [KvLayer; NUM_HIDDEN_LAYERS] = [KvLayer::Chosen; NUM_HIDDEN_LAYERS];
/// What the cache may be on sm_90a, the default first.
#[cfg(feature = "cuda")]
pub const SM_90A_KV_CACHE_DTYPES: [KvDtypeName; 1] = [KvDtypeName::Bf16];

/// Constants for the engine and the server.
pub const INFO: ModelInfo = ModelInfo {
    name: "mistral-small-4",
    source: "mistralai/Mistral-Small-4-119B-2603",
    parameters: PARAMETERS,
    vocab_size: VOCAB_SIZE,
    max_position_embeddings: MAX_POSITION_EMBEDDINGS,
    kv_cache_dtypes: &KV_CACHE_DTYPES,
    kv_elements_per_token: 11520,
    kv_fixed_bytes_per_token: 0,
    state_bytes_per_slot: 0,
    pull: &[
        PullSource::HuggingFace {
            repo: "mistralai/Mistral-Small-4-119B-2603",
            file: None,
            sha256: None,
        },
    ],
    chat_template: ChatTemplate::Checkpoint,
    tools: Some(ToolSettings {
        parser: ToolParser::Mistral,
        skip_template_tools: false,
        steering: true,
        thinking: false,
    }),
    reasoning: Some(ReasoningParser::Mistral),
    sampling: SamplingDefaults {
        temperature: 0.15,
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

const _: () = assert!(64 == QK_ROPE_HEAD_DIM);
const _: () = assert!(NUM_EXPERTS_PER_TOK <= N_ROUTED_EXPERTS);
const _: () = assert!(
    layers::BLOCK_LAYERS[layers::BLOCK_LAYERS.len() - 1] < NUM_HIDDEN_LAYERS
);
const _: () = assert!(layers::BLOCK_LAYERS.len() == NUM_HIDDEN_LAYERS);
