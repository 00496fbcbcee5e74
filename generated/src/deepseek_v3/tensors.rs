//! deepseek-v3: the tensors of its checkpoint.
//! Generated from model-specs/deepseek-v3; edit the TOMLs there, then `cargo build`.

use tenon_core::weights::{
    EmbeddingSpec, GatedExpertNames, GatedExpertsSpec, LatentUpSpec, LinearSpec,
    NormSpec, PlannedTensor, StorageFormat, VectorSpec,
};

use super::layers::{DENSE_LAYERS, SPARSE_LAYERS};

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[
    StorageFormat::Fp8E4m3,
    StorageFormat::Bf16,
    StorageFormat::F32,
];

pub(super) const EMBED_TOKENS: EmbeddingSpec<129280, 7168> = EmbeddingSpec::new(
    "model.embed_tokens.weight",
    ACCEPT,
);
pub(super) const DENSE_INPUT_LAYERNORM: NormSpec<7168> = NormSpec::new(
    "model.layers.{layer}.input_layernorm.weight",
    ACCEPT,
);
pub(super) const DENSE_Q_A_PROJ: LinearSpec<1536, 7168> = LinearSpec::new(
    "model.layers.{layer}.self_attn.q_a_proj.weight",
    ACCEPT,
);
pub(super) const DENSE_Q_A_LAYERNORM: NormSpec<1536> = NormSpec::new(
    "model.layers.{layer}.self_attn.q_a_layernorm.weight",
    ACCEPT,
);
pub(super) const DENSE_Q_B_PROJ: LinearSpec<24576, 1536> = LinearSpec::new(
    "model.layers.{layer}.self_attn.q_b_proj.weight",
    ACCEPT,
);
pub(super) const DENSE_KV_A_PROJ: LinearSpec<576, 7168> = LinearSpec::new(
    "model.layers.{layer}.self_attn.kv_a_proj_with_mqa.weight",
    ACCEPT,
);
pub(super) const DENSE_KV_A_LAYERNORM: NormSpec<512> = NormSpec::new(
    "model.layers.{layer}.self_attn.kv_a_layernorm.weight",
    ACCEPT,
);
pub(super) const DENSE_KV_B_PROJ: LatentUpSpec<128, 128, 128, 512> = LatentUpSpec::new(
    "model.layers.{layer}.self_attn.kv_b_proj.weight",
    ACCEPT,
);
pub(super) const DENSE_O_PROJ: LinearSpec<7168, 16384> = LinearSpec::new(
    "model.layers.{layer}.self_attn.o_proj.weight",
    ACCEPT,
);
pub(super) const DENSE_POST_ATTENTION_LAYERNORM: NormSpec<7168> = NormSpec::new(
    "model.layers.{layer}.post_attention_layernorm.weight",
    ACCEPT,
);
pub(super) const DENSE_GATE_PROJ: LinearSpec<18432, 7168> = LinearSpec::new(
    "model.layers.{layer}.mlp.gate_proj.weight",
    ACCEPT,
);
pub(super) const DENSE_UP_PROJ: LinearSpec<18432, 7168> = LinearSpec::new(
    "model.layers.{layer}.mlp.up_proj.weight",
    ACCEPT,
);
pub(super) const DENSE_DOWN_PROJ: LinearSpec<7168, 18432> = LinearSpec::new(
    "model.layers.{layer}.mlp.down_proj.weight",
    ACCEPT,
);
pub(super) const SPARSE_INPUT_LAYERNORM: NormSpec<7168> = NormSpec::new(
    "model.layers.{layer}.input_layernorm.weight",
    ACCEPT,
);
pub(super) const SPARSE_Q_A_PROJ: LinearSpec<1536, 7168> = LinearSpec::new(
    "model.layers.{layer}.self_attn.q_a_proj.weight",
    ACCEPT,
);
pub(super) const SPARSE_Q_A_LAYERNORM: NormSpec<1536> = NormSpec::new(
    "model.layers.{layer}.self_attn.q_a_layernorm.weight",
    ACCEPT,
);
pub(super) const SPARSE_Q_B_PROJ: LinearSpec<24576, 1536> = LinearSpec::new(
    "model.layers.{layer}.self_attn.q_b_proj.weight",
    ACCEPT,
);
pub(super) const SPARSE_KV_A_PROJ: LinearSpec<576, 7168> = LinearSpec::new(
    "model.layers.{layer}.self_attn.kv_a_proj_with_mqa.weight",
    ACCEPT,
);
pub(super) const SPARSE_KV_A_LAYERNORM: NormSpec<512> = NormSpec::new(
    "model.layers.{layer}.self_attn.kv_a_layernorm.weight",
    ACCEPT,
);
pub(super) const SPARSE_KV_B_PROJ: LatentUpSpec<128, 128, 128, 512> = LatentUpSpec::new(
    "model.layers.{layer}.self_attn.kv_b_proj.weight",
    ACCEPT,
);
pub(super) const SPARSE_O_PROJ: LinearSpec<7168, 16384> = LinearSpec::new(
    "model.layers.{layer}.self_attn.o_proj.weight",
    ACCEPT,
);
pub(super) const SPARSE_POST_ATTENTION_LAYERNORM: NormSpec<7168> = NormSpec::new(
    "model.layers.{layer}.post_attention_layernorm.weight",
    ACCEPT,
);
pub(super) const SPARSE_ROUTER: LinearSpec<256, 7168> = LinearSpec::new(
    "model.layers.{layer}.mlp.gate.weight",
    ACCEPT,
);
pub(super) const SPARSE_E_SCORE_CORRECTION_BIAS: VectorSpec<256> = VectorSpec::new(
    "model.layers.{layer}.mlp.gate.e_score_correction_bias",
    ACCEPT,
);
pub(super) const SPARSE_EXPERTS: GatedExpertsSpec<256, 7168, 2048> = GatedExpertsSpec::new(
    GatedExpertNames::Each {
        gate: "model.layers.{layer}.mlp.experts.{expert}.gate_proj.weight",
        up: "model.layers.{layer}.mlp.experts.{expert}.up_proj.weight",
        down: "model.layers.{layer}.mlp.experts.{expert}.down_proj.weight",
    },
    ACCEPT,
);
pub(super) const SPARSE_SHARED_GATE_PROJ: LinearSpec<2048, 7168> = LinearSpec::new(
    "model.layers.{layer}.mlp.shared_experts.gate_proj.weight",
    ACCEPT,
);
pub(super) const SPARSE_SHARED_UP_PROJ: LinearSpec<2048, 7168> = LinearSpec::new(
    "model.layers.{layer}.mlp.shared_experts.up_proj.weight",
    ACCEPT,
);
pub(super) const SPARSE_SHARED_DOWN_PROJ: LinearSpec<7168, 2048> = LinearSpec::new(
    "model.layers.{layer}.mlp.shared_experts.down_proj.weight",
    ACCEPT,
);
pub(super) const NORM: NormSpec<7168> = NormSpec::new("model.norm.weight", ACCEPT);
pub(super) const LM_HEAD: LinearSpec<129280, 7168> = LinearSpec::new(
    "lm_head.weight",
    ACCEPT,
);

/// Every tensor that the checkpoint must hold, and how it is kept.
pub const TENSORS: [PlannedTensor; 31] = [
    EMBED_TOKENS.once(),
    DENSE_INPUT_LAYERNORM.per_layer(&DENSE_LAYERS),
    DENSE_Q_A_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_Q_A_LAYERNORM.per_layer(&DENSE_LAYERS),
    DENSE_Q_B_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_KV_A_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_KV_A_LAYERNORM.per_layer(&DENSE_LAYERS),
    DENSE_KV_B_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_O_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_POST_ATTENTION_LAYERNORM.per_layer(&DENSE_LAYERS),
    DENSE_GATE_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_UP_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_DOWN_PROJ.per_layer(&DENSE_LAYERS),
    SPARSE_INPUT_LAYERNORM.per_layer(&SPARSE_LAYERS),
    SPARSE_Q_A_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_Q_A_LAYERNORM.per_layer(&SPARSE_LAYERS),
    SPARSE_Q_B_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_KV_A_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_KV_A_LAYERNORM.per_layer(&SPARSE_LAYERS),
    SPARSE_KV_B_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_O_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_POST_ATTENTION_LAYERNORM.per_layer(&SPARSE_LAYERS),
    SPARSE_ROUTER.per_layer(&SPARSE_LAYERS),
    SPARSE_E_SCORE_CORRECTION_BIAS.per_layer(&SPARSE_LAYERS),
    SPARSE_EXPERTS.per_layer(&SPARSE_LAYERS),
    SPARSE_SHARED_GATE_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_SHARED_UP_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_SHARED_DOWN_PROJ.per_layer(&SPARSE_LAYERS),
    NORM.once(),
    LM_HEAD.once(),
    PlannedTensor::ignored("model.layers.61.*", "speculation heads are not used"),
];
