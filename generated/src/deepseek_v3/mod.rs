//! deepseek-v3: what the model is. 671,026,404,352 parameters.
//! Generated from model-specs/deepseek-v3; edit the TOMLs there, then `cargo build`.

/// One step on cpu.
pub mod cpu;
/// Tensors of the checkpoint, and weights as they are kept.
pub mod weights;

use tenon_core::dtype::KvDtypeName;
use tenon_core::model::{
    ChatTemplate, KvLayer, ModelEntry, ModelInfo, PullSource, SamplingDefaults,
};
use tenon_core::moe::{GroupScore, Router, RouterScores};
use tenon_core::rope::{Interleaved, Rope, RopeScaling};
use tenon_core::scale::SoftmaxScale;
use tenon_core::weights::{ConfigContract, ConfigKey, Expected, IgnoredKey};

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

/// What the checkpoint's config must say, or it is refused.
pub const CONFIG: ConfigContract = ConfigContract {
    keys: &[
        ConfigKey::new("model_type", Expected::Text("deepseek_v3")),
        ConfigKey::new("hidden_size", Expected::Int(7168)),
        ConfigKey::new("vocab_size", Expected::Int(129280)),
        ConfigKey::new("max_position_embeddings", Expected::Int(163840)),
        ConfigKey::new("rms_norm_eps", Expected::Float(1e-6)),
        ConfigKey::new("tie_word_embeddings", Expected::Bool(false)),
        ConfigKey::new("num_hidden_layers", Expected::Int(61)),
        ConfigKey::new("num_attention_heads", Expected::Int(128)),
        ConfigKey::new("num_key_value_heads", Expected::AbsentOr(&Expected::Int(128))),
        ConfigKey::new("q_lora_rank", Expected::Int(1536)),
        ConfigKey::new("kv_lora_rank", Expected::Int(512)),
        ConfigKey::new("qk_nope_head_dim", Expected::Int(128)),
        ConfigKey::new("qk_rope_head_dim", Expected::Int(64)),
        ConfigKey::new("v_head_dim", Expected::Int(128)),
        ConfigKey::new("attention_bias", Expected::Bool(false)),
        ConfigKey::new("interleaved", Expected::Bool(true)),
        ConfigKey::new("rope_theta", Expected::Float(10000.0)),
        ConfigKey::new("rotary_dim", Expected::Int(64)),
        ConfigKey::new("rope_type", Expected::Text("yarn")),
        ConfigKey::new("factor", Expected::Float(40.0)),
        ConfigKey::new("original_max_position_embeddings", Expected::Int(4096)),
        ConfigKey::new("beta_fast", Expected::Float(32.0)),
        ConfigKey::new("beta_slow", Expected::Float(1.0)),
        ConfigKey::new("truncate", Expected::Bool(true)),
        ConfigKey::new("mscale", Expected::Float(1.0)),
        ConfigKey::new("mscale_all_dim", Expected::Float(1.0)),
        ConfigKey::new("attention_factor", Expected::Absent),
        ConfigKey::new("llama_4_scaling_beta", Expected::Absent),
        ConfigKey::new("intermediate_size", Expected::Int(18432)),
        ConfigKey::new("hidden_act", Expected::Text("silu")),
        ConfigKey::new("mlp_bias", Expected::AbsentOr(&Expected::Bool(false))),
        ConfigKey::new("n_routed_experts", Expected::Int(256)),
        ConfigKey::new("num_experts_per_tok", Expected::Int(8)),
        ConfigKey::new("moe_intermediate_size", Expected::Int(2048)),
        ConfigKey::new("gated", Expected::Bool(true)),
        ConfigKey::new("expert_bias", Expected::Bool(false)),
        ConfigKey::new("scoring_func", Expected::Text("sigmoid")),
        ConfigKey::new("router_bias", Expected::Bool(false)),
        ConfigKey::new("e_score_correction_bias", Expected::Bool(true)),
        ConfigKey::new("n_group", Expected::Int(8)),
        ConfigKey::new("topk_group", Expected::Int(4)),
        ConfigKey::new("group_score", Expected::Text("top2")),
        ConfigKey::new("norm_topk_prob", Expected::Bool(true)),
        ConfigKey::new("routed_scaling_factor", Expected::Float(2.5)),
        ConfigKey::new("moe_latent_size", Expected::Absent),
        ConfigKey::new("shared_expert_intermediate_size", Expected::Int(2048)),
        ConfigKey::new("shared_expert_gate", Expected::Bool(false)),
        ConfigKey::new("swiglu_limit", Expected::Absent),
        ConfigKey::new("swiglu_alpha", Expected::Absent),
        ConfigKey::new(
            "mlp_layer_types",
            Expected::List(
                &[
                    "dense",
                    "dense",
                    "dense",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                    "sparse",
                ],
            ),
        ),
    ],
    ignored: &[
        IgnoredKey::new("num_nextn_predict_layers", "speculation heads are not used"),
        IgnoredKey::new(
            "quantization_config.*",
            "each tensor states its own storage format",
        ),
    ],
};

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
    sampling: SamplingDefaults {
        temperature: 0.6,
        top_p: 0.95,
        top_k: 0,
    },
};

/// What the server lists and loads.
pub const ENTRY: ModelEntry = ModelEntry {
    info: &INFO,
    cpu: Some(cpu::load),
    plan: include_str!("plan.txt"),
};

const _: () = assert!(64 == QK_ROPE_HEAD_DIM);
const _: () = assert!(EXPERTS_NUM_EXPERTS_PER_TOK <= EXPERTS_N_ROUTED_EXPERTS);
const _: () = assert!(
    weights::DENSE_LAYERS[weights::DENSE_LAYERS.len() - 1] < NUM_HIDDEN_LAYERS
);
const _: () = assert!(
    weights::SPARSE_LAYERS[weights::SPARSE_LAYERS.len() - 1] < NUM_HIDDEN_LAYERS
);
const _: () = assert!(
    weights::DENSE_LAYERS.len() + weights::SPARSE_LAYERS.len() == NUM_HIDDEN_LAYERS
);
