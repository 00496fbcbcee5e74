//! qwen3-0.6b: the tensors of its checkpoint.
//! Generated from model-specs/qwen3-0.6b; edit the TOMLs there, then `cargo build`.

use tenon_core::weights::{
    EmbeddingSpec, LinearSpec, NormSpec, PlannedTensor, StorageFormat,
};

use super::layers::BLOCK_LAYERS;

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[
    StorageFormat::Bf16,
    StorageFormat::F16,
    StorageFormat::F32,
];

pub(super) const EMBED_TOKENS: EmbeddingSpec<151936, 1024> = EmbeddingSpec::new(
    "model.embed_tokens.weight",
    ACCEPT,
);
pub(super) const INPUT_LAYERNORM: NormSpec<1024> = NormSpec::new(
    "model.layers.{layer}.input_layernorm.weight",
    ACCEPT,
);
pub(super) const Q_PROJ: LinearSpec<2048, 1024> = LinearSpec::new(
    "model.layers.{layer}.self_attn.q_proj.weight",
    ACCEPT,
);
pub(super) const K_PROJ: LinearSpec<1024, 1024> = LinearSpec::new(
    "model.layers.{layer}.self_attn.k_proj.weight",
    ACCEPT,
);
pub(super) const V_PROJ: LinearSpec<1024, 1024> = LinearSpec::new(
    "model.layers.{layer}.self_attn.v_proj.weight",
    ACCEPT,
);
pub(super) const Q_NORM: NormSpec<128> = NormSpec::new(
    "model.layers.{layer}.self_attn.q_norm.weight",
    ACCEPT,
);
pub(super) const K_NORM: NormSpec<128> = NormSpec::new(
    "model.layers.{layer}.self_attn.k_norm.weight",
    ACCEPT,
);
pub(super) const O_PROJ: LinearSpec<1024, 2048> = LinearSpec::new(
    "model.layers.{layer}.self_attn.o_proj.weight",
    ACCEPT,
);
pub(super) const POST_ATTENTION_LAYERNORM: NormSpec<1024> = NormSpec::new(
    "model.layers.{layer}.post_attention_layernorm.weight",
    ACCEPT,
);
pub(super) const GATE_PROJ: LinearSpec<3072, 1024> = LinearSpec::new(
    "model.layers.{layer}.mlp.gate_proj.weight",
    ACCEPT,
);
pub(super) const UP_PROJ: LinearSpec<3072, 1024> = LinearSpec::new(
    "model.layers.{layer}.mlp.up_proj.weight",
    ACCEPT,
);
pub(super) const DOWN_PROJ: LinearSpec<1024, 3072> = LinearSpec::new(
    "model.layers.{layer}.mlp.down_proj.weight",
    ACCEPT,
);
pub(super) const NORM: NormSpec<1024> = NormSpec::new("model.norm.weight", ACCEPT);
pub(super) const LM_HEAD: LinearSpec<151936, 1024> = LinearSpec::new(
    "model.embed_tokens.weight",
    ACCEPT,
);

/// Every tensor that the checkpoint must hold, and how it is kept.
pub const TENSORS: [PlannedTensor; 14] = [
    EMBED_TOKENS.once(),
    INPUT_LAYERNORM.per_layer(&BLOCK_LAYERS),
    Q_PROJ.per_layer(&BLOCK_LAYERS),
    K_PROJ.per_layer(&BLOCK_LAYERS),
    V_PROJ.per_layer(&BLOCK_LAYERS),
    Q_NORM.per_layer(&BLOCK_LAYERS),
    K_NORM.per_layer(&BLOCK_LAYERS),
    O_PROJ.per_layer(&BLOCK_LAYERS),
    POST_ATTENTION_LAYERNORM.per_layer(&BLOCK_LAYERS),
    GATE_PROJ.per_layer(&BLOCK_LAYERS),
    UP_PROJ.per_layer(&BLOCK_LAYERS),
    DOWN_PROJ.per_layer(&BLOCK_LAYERS),
    NORM.once(),
    LM_HEAD.tied(),
];
