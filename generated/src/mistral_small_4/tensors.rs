//! mistral-small-4: the tensors of its checkpoint.
//! Generated from model-specs/mistral-small-4; edit the TOMLs there, then `cargo build`.

use tenon_core::weights::{
    EmbeddingSpec, GatedExpertNames, GatedExpertsSpec, LatentUpSpec, LinearSpec,
    NormSpec, PlannedTensor, StorageFormat,
};

use super::layers::BLOCK_LAYERS;

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[
    StorageFormat::Fp8E4m3,
    StorageFormat::Bf16,
    StorageFormat::F32,
];

pub(super) const EMBED_TOKENS: EmbeddingSpec<131072, 4096> = EmbeddingSpec::new(
    "language_model.model.embed_tokens.weight",
    ACCEPT,
);
pub(super) const INPUT_LAYERNORM: NormSpec<4096> = NormSpec::new(
    "language_model.model.layers.{layer}.input_layernorm.weight",
    ACCEPT,
);
pub(super) const Q_A_PROJ: LinearSpec<1024, 4096> = LinearSpec::new(
    "language_model.model.layers.{layer}.self_attn.q_a_proj.weight",
    ACCEPT,
);
pub(super) const Q_A_LAYERNORM: NormSpec<1024> = NormSpec::new(
    "language_model.model.layers.{layer}.self_attn.q_a_layernorm.weight",
    ACCEPT,
);
pub(super) const Q_B_PROJ: LinearSpec<4096, 1024> = LinearSpec::new(
    "language_model.model.layers.{layer}.self_attn.q_b_proj.weight",
    ACCEPT,
);
pub(super) const KV_A_PROJ: LinearSpec<320, 4096> = LinearSpec::new(
    "language_model.model.layers.{layer}.self_attn.kv_a_proj_with_mqa.weight",
    ACCEPT,
);
pub(super) const KV_A_LAYERNORM: NormSpec<256> = NormSpec::new(
    "language_model.model.layers.{layer}.self_attn.kv_a_layernorm.weight",
    ACCEPT,
);
pub(super) const KV_B_PROJ: LatentUpSpec<32, 64, 128, 256> = LatentUpSpec::new(
    "language_model.model.layers.{layer}.self_attn.kv_b_proj.weight",
    ACCEPT,
);
pub(super) const O_PROJ: LinearSpec<4096, 4096> = LinearSpec::new(
    "language_model.model.layers.{layer}.self_attn.o_proj.weight",
    ACCEPT,
);
pub(super) const POST_ATTENTION_LAYERNORM: NormSpec<4096> = NormSpec::new(
    "language_model.model.layers.{layer}.post_attention_layernorm.weight",
    ACCEPT,
);
pub(super) const ROUTER: LinearSpec<128, 4096> = LinearSpec::new(
    "language_model.model.layers.{layer}.mlp.gate.weight",
    ACCEPT,
);
pub(super) const EXPERTS: GatedExpertsSpec<128, 4096, 2048> = GatedExpertsSpec::new(
    GatedExpertNames::Stacked {
        gate_up: "language_model.model.layers.{layer}.mlp.experts.gate_up_proj",
        down: "language_model.model.layers.{layer}.mlp.experts.down_proj",
    },
    ACCEPT,
);
pub(super) const SHARED_GATE_PROJ: LinearSpec<2048, 4096> = LinearSpec::new(
    "language_model.model.layers.{layer}.mlp.shared_experts.gate_proj.weight",
    ACCEPT,
);
pub(super) const SHARED_UP_PROJ: LinearSpec<2048, 4096> = LinearSpec::new(
    "language_model.model.layers.{layer}.mlp.shared_experts.up_proj.weight",
    ACCEPT,
);
pub(super) const SHARED_DOWN_PROJ: LinearSpec<4096, 2048> = LinearSpec::new(
    "language_model.model.layers.{layer}.mlp.shared_experts.down_proj.weight",
    ACCEPT,
);
pub(super) const NORM: NormSpec<4096> = NormSpec::new(
    "language_model.model.norm.weight",
    ACCEPT,
);
pub(super) const LM_HEAD: LinearSpec<131072, 4096> = LinearSpec::new(
    "language_model.lm_head.weight",
    ACCEPT,
);

/// Every tensor that the checkpoint must hold, and how it is kept.
pub const TENSORS: [PlannedTensor; 19] = [
    EMBED_TOKENS.once(),
    INPUT_LAYERNORM.per_layer(&BLOCK_LAYERS),
    Q_A_PROJ.per_layer(&BLOCK_LAYERS),
    Q_A_LAYERNORM.per_layer(&BLOCK_LAYERS),
    Q_B_PROJ.per_layer(&BLOCK_LAYERS),
    KV_A_PROJ.per_layer(&BLOCK_LAYERS),
    KV_A_LAYERNORM.per_layer(&BLOCK_LAYERS),
    KV_B_PROJ.per_layer(&BLOCK_LAYERS),
    O_PROJ.per_layer(&BLOCK_LAYERS),
    POST_ATTENTION_LAYERNORM.per_layer(&BLOCK_LAYERS),
    ROUTER.per_layer(&BLOCK_LAYERS),
    EXPERTS.per_layer(&BLOCK_LAYERS),
    SHARED_GATE_PROJ.per_layer(&BLOCK_LAYERS),
    SHARED_UP_PROJ.per_layer(&BLOCK_LAYERS),
    SHARED_DOWN_PROJ.per_layer(&BLOCK_LAYERS),
    NORM.once(),
    LM_HEAD.once(),
    PlannedTensor::ignored("vision_tower.*", "the vision part is not compiled"),
    PlannedTensor::ignored("multi_modal_projector.*", "the vision part is not compiled"),
];
