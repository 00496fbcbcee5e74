//! gpt-oss-20b: what the model is. 20,914,757,184 parameters.
//! Generated from model-specs/gpt-oss-20b; edit the TOMLs there, then `cargo build`.

/// One step on cpu.
pub mod cpu;
/// Tensors of the checkpoint, and weights as they are kept.
pub mod weights;

use tenon_core::dtype::KvDtypeName;
use tenon_core::model::{
    ChatTemplate, KvLayer, ModelEntry, ModelInfo, PullSource, SamplingDefaults,
};
use tenon_core::moe::{Router, RouterScores};
use tenon_core::rope::{Halves, Rope, RopeScaling};
use tenon_core::scale::SoftmaxScale;
use tenon_core::weights::{ConfigContract, ConfigKey, Expected, IgnoredKey};

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

/// What the checkpoint's config must say, or it is refused.
pub const CONFIG: ConfigContract = ConfigContract {
    keys: &[
        ConfigKey::new("model_type", Expected::Text("gpt_oss")),
        ConfigKey::new("hidden_size", Expected::Int(2880)),
        ConfigKey::new("vocab_size", Expected::Int(201088)),
        ConfigKey::new("max_position_embeddings", Expected::Int(131072)),
        ConfigKey::new("rms_norm_eps", Expected::Float(1e-5)),
        ConfigKey::new("tie_word_embeddings", Expected::Bool(false)),
        ConfigKey::new("num_hidden_layers", Expected::Int(24)),
        ConfigKey::new("num_attention_heads", Expected::Int(64)),
        ConfigKey::new("num_key_value_heads", Expected::Int(8)),
        ConfigKey::new("head_dim", Expected::Int(64)),
        ConfigKey::new("sliding_window", Expected::Int(128)),
        ConfigKey::new("attention_bias", Expected::Bool(true)),
        ConfigKey::new(
            "attention_output_bias",
            Expected::AbsentOr(&Expected::Bool(true)),
        ),
        ConfigKey::new("attention_sinks", Expected::AbsentOr(&Expected::Bool(true))),
        ConfigKey::new("rope_theta", Expected::Float(150000.0)),
        ConfigKey::new("interleaved", Expected::AbsentOr(&Expected::Bool(false))),
        ConfigKey::new(
            "partial_rotary_factor",
            Expected::AbsentOr(&Expected::Float(1.0)),
        ),
        ConfigKey::new("rope_type", Expected::Text("yarn")),
        ConfigKey::new("factor", Expected::Float(32.0)),
        ConfigKey::new("original_max_position_embeddings", Expected::Int(4096)),
        ConfigKey::new("beta_fast", Expected::Float(32.0)),
        ConfigKey::new("beta_slow", Expected::Float(1.0)),
        ConfigKey::new("truncate", Expected::Bool(false)),
        ConfigKey::new("mscale", Expected::Absent),
        ConfigKey::new("mscale_all_dim", Expected::Absent),
        ConfigKey::new("attention_factor", Expected::Absent),
        ConfigKey::new("mlp_bias", Expected::AbsentOr(&Expected::Bool(false))),
        ConfigKey::new("n_routed_experts", Expected::Int(32)),
        ConfigKey::new("num_experts_per_tok", Expected::Int(4)),
        ConfigKey::new("moe_intermediate_size", Expected::Int(2880)),
        ConfigKey::new("hidden_act", Expected::Text("silu")),
        ConfigKey::new("gated", Expected::Bool(true)),
        ConfigKey::new("expert_bias", Expected::Bool(true)),
        ConfigKey::new("scoring_func", Expected::Text("softmax")),
        ConfigKey::new("router_bias", Expected::Bool(true)),
        ConfigKey::new("e_score_correction_bias", Expected::Bool(false)),
        ConfigKey::new("n_group", Expected::Int(1)),
        ConfigKey::new("topk_group", Expected::Int(1)),
        ConfigKey::new("norm_topk_prob", Expected::Bool(true)),
        ConfigKey::new("routed_scaling_factor", Expected::Float(1.0)),
        ConfigKey::new("moe_latent_size", Expected::Absent),
        ConfigKey::new("shared_expert_intermediate_size", Expected::Absent),
        ConfigKey::new("swiglu_limit", Expected::Float(7.0)),
        ConfigKey::new("swiglu_alpha", Expected::Float(1.702)),
        ConfigKey::new(
            "layer_types",
            Expected::List(
                &[
                    "sliding_attention",
                    "full_attention",
                    "sliding_attention",
                    "full_attention",
                    "sliding_attention",
                    "full_attention",
                    "sliding_attention",
                    "full_attention",
                    "sliding_attention",
                    "full_attention",
                    "sliding_attention",
                    "full_attention",
                    "sliding_attention",
                    "full_attention",
                    "sliding_attention",
                    "full_attention",
                    "sliding_attention",
                    "full_attention",
                    "sliding_attention",
                    "full_attention",
                    "sliding_attention",
                    "full_attention",
                    "sliding_attention",
                    "full_attention",
                ],
            ),
        ),
        ConfigKey::new("mlp_layer_types", Expected::Each("sparse", 24)),
    ],
    ignored: &[
        IgnoredKey::new(
            "quantization_config.*",
            "each tensor states its own storage format",
        ),
    ],
};

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
    sampling: SamplingDefaults {
        temperature: 1.0,
        top_p: 1.0,
        top_k: 0,
    },
};

/// What the server lists and loads.
pub const ENTRY: ModelEntry = ModelEntry {
    info: &INFO,
    cpu: Some(cpu::load),
    plan: include_str!("plan.txt"),
};

const _: () = assert!(
    LOCAL_NUM_ATTENTION_HEADS.is_multiple_of(LOCAL_NUM_KEY_VALUE_HEADS)
);
const _: () = assert!(64 <= LOCAL_HEAD_DIM);
const _: () = assert!(FULL_NUM_ATTENTION_HEADS.is_multiple_of(FULL_NUM_KEY_VALUE_HEADS));
const _: () = assert!(64 <= FULL_HEAD_DIM);
const _: () = assert!(NUM_EXPERTS_PER_TOK <= N_ROUTED_EXPERTS);
const _: () = assert!(
    weights::LOCAL_LAYERS[weights::LOCAL_LAYERS.len() - 1] < NUM_HIDDEN_LAYERS
);
const _: () = assert!(
    weights::FULL_LAYERS[weights::FULL_LAYERS.len() - 1] < NUM_HIDDEN_LAYERS
);
const _: () = assert!(
    weights::LOCAL_LAYERS.len() + weights::FULL_LAYERS.len() == NUM_HIDDEN_LAYERS
);
const _: () = assert!(weights::PATTERN.len() == NUM_HIDDEN_LAYERS);
