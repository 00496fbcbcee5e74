//! gemma-3-270m: the tensors of its checkpoint.
//! Generated from model-specs/gemma-3-270m; edit the TOMLs there, then `cargo build`.

use tenon_core::weights::{
    EmbeddingSpec, LinearSpec, NormSpec, PlannedTensor, StorageFormat,
};

use super::layers::{FULL_LAYERS, LOCAL_LAYERS};

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[
    StorageFormat::Q8_0,
    StorageFormat::Q5_0,
    StorageFormat::Q4K,
    StorageFormat::Q6K,
    StorageFormat::Q5_1,
    StorageFormat::Q5K,
    StorageFormat::Q4_0,
    StorageFormat::Q4_1,
    StorageFormat::Bf16,
    StorageFormat::F16,
    StorageFormat::F32,
];

pub(super) const EMBED_TOKENS: EmbeddingSpec<262144, 640> = EmbeddingSpec::new(
    "token_embd.weight",
    ACCEPT,
);
pub(super) const LOCAL_INPUT_LAYERNORM: NormSpec<640> = NormSpec::new(
    "blk.{layer}.attn_norm.weight",
    ACCEPT,
);
pub(super) const LOCAL_Q_PROJ: LinearSpec<1024, 640> = LinearSpec::new(
    "blk.{layer}.attn_q.weight",
    ACCEPT,
);
pub(super) const LOCAL_K_PROJ: LinearSpec<256, 640> = LinearSpec::new(
    "blk.{layer}.attn_k.weight",
    ACCEPT,
);
pub(super) const LOCAL_V_PROJ: LinearSpec<256, 640> = LinearSpec::new(
    "blk.{layer}.attn_v.weight",
    ACCEPT,
);
pub(super) const LOCAL_Q_NORM: NormSpec<256> = NormSpec::new(
    "blk.{layer}.attn_q_norm.weight",
    ACCEPT,
);
pub(super) const LOCAL_K_NORM: NormSpec<256> = NormSpec::new(
    "blk.{layer}.attn_k_norm.weight",
    ACCEPT,
);
pub(super) const LOCAL_O_PROJ: LinearSpec<640, 1024> = LinearSpec::new(
    "blk.{layer}.attn_output.weight",
    ACCEPT,
);
pub(super) const LOCAL_POST_ATTENTION_LAYERNORM: NormSpec<640> = NormSpec::new(
    "blk.{layer}.post_attention_norm.weight",
    ACCEPT,
);
pub(super) const LOCAL_PRE_FEEDFORWARD_LAYERNORM: NormSpec<640> = NormSpec::new(
    "blk.{layer}.ffn_norm.weight",
    ACCEPT,
);
pub(super) const LOCAL_GATE_PROJ: LinearSpec<2048, 640> = LinearSpec::new(
    "blk.{layer}.ffn_gate.weight",
    ACCEPT,
);
pub(super) const LOCAL_UP_PROJ: LinearSpec<2048, 640> = LinearSpec::new(
    "blk.{layer}.ffn_up.weight",
    ACCEPT,
);
pub(super) const LOCAL_DOWN_PROJ: LinearSpec<640, 2048> = LinearSpec::new(
    "blk.{layer}.ffn_down.weight",
    ACCEPT,
);
pub(super) const LOCAL_POST_FEEDFORWARD_LAYERNORM: NormSpec<640> = NormSpec::new(
    "blk.{layer}.post_ffw_norm.weight",
    ACCEPT,
);
pub(super) const FULL_INPUT_LAYERNORM: NormSpec<640> = NormSpec::new(
    "blk.{layer}.attn_norm.weight",
    ACCEPT,
);
pub(super) const FULL_Q_PROJ: LinearSpec<1024, 640> = LinearSpec::new(
    "blk.{layer}.attn_q.weight",
    ACCEPT,
);
pub(super) const FULL_K_PROJ: LinearSpec<256, 640> = LinearSpec::new(
    "blk.{layer}.attn_k.weight",
    ACCEPT,
);
pub(super) const FULL_V_PROJ: LinearSpec<256, 640> = LinearSpec::new(
    "blk.{layer}.attn_v.weight",
    ACCEPT,
);
pub(super) const FULL_Q_NORM: NormSpec<256> = NormSpec::new(
    "blk.{layer}.attn_q_norm.weight",
    ACCEPT,
);
pub(super) const FULL_K_NORM: NormSpec<256> = NormSpec::new(
    "blk.{layer}.attn_k_norm.weight",
    ACCEPT,
);
pub(super) const FULL_O_PROJ: LinearSpec<640, 1024> = LinearSpec::new(
    "blk.{layer}.attn_output.weight",
    ACCEPT,
);
pub(super) const FULL_POST_ATTENTION_LAYERNORM: NormSpec<640> = NormSpec::new(
    "blk.{layer}.post_attention_norm.weight",
    ACCEPT,
);
pub(super) const FULL_PRE_FEEDFORWARD_LAYERNORM: NormSpec<640> = NormSpec::new(
    "blk.{layer}.ffn_norm.weight",
    ACCEPT,
);
pub(super) const FULL_GATE_PROJ: LinearSpec<2048, 640> = LinearSpec::new(
    "blk.{layer}.ffn_gate.weight",
    ACCEPT,
);
pub(super) const FULL_UP_PROJ: LinearSpec<2048, 640> = LinearSpec::new(
    "blk.{layer}.ffn_up.weight",
    ACCEPT,
);
pub(super) const FULL_DOWN_PROJ: LinearSpec<640, 2048> = LinearSpec::new(
    "blk.{layer}.ffn_down.weight",
    ACCEPT,
);
pub(super) const FULL_POST_FEEDFORWARD_LAYERNORM: NormSpec<640> = NormSpec::new(
    "blk.{layer}.post_ffw_norm.weight",
    ACCEPT,
);
pub(super) const NORM: NormSpec<640> = NormSpec::new("output_norm.weight", ACCEPT);
pub(super) const LM_HEAD: LinearSpec<262144, 640> = LinearSpec::new(
    "token_embd.weight",
    ACCEPT,
);

/// Every tensor that the checkpoint must hold, and how it is kept.
pub const TENSORS: [PlannedTensor; 29] = [
    EMBED_TOKENS.once(),
    LOCAL_INPUT_LAYERNORM.per_layer(&LOCAL_LAYERS),
    LOCAL_Q_PROJ.per_layer(&LOCAL_LAYERS),
    LOCAL_K_PROJ.per_layer(&LOCAL_LAYERS),
    LOCAL_V_PROJ.per_layer(&LOCAL_LAYERS),
    LOCAL_Q_NORM.per_layer(&LOCAL_LAYERS),
    LOCAL_K_NORM.per_layer(&LOCAL_LAYERS),
    LOCAL_O_PROJ.per_layer(&LOCAL_LAYERS),
    LOCAL_POST_ATTENTION_LAYERNORM.per_layer(&LOCAL_LAYERS),
    LOCAL_PRE_FEEDFORWARD_LAYERNORM.per_layer(&LOCAL_LAYERS),
    LOCAL_GATE_PROJ.per_layer(&LOCAL_LAYERS),
    LOCAL_UP_PROJ.per_layer(&LOCAL_LAYERS),
    LOCAL_DOWN_PROJ.per_layer(&LOCAL_LAYERS),
    LOCAL_POST_FEEDFORWARD_LAYERNORM.per_layer(&LOCAL_LAYERS),
    FULL_INPUT_LAYERNORM.per_layer(&FULL_LAYERS),
    FULL_Q_PROJ.per_layer(&FULL_LAYERS),
    FULL_K_PROJ.per_layer(&FULL_LAYERS),
    FULL_V_PROJ.per_layer(&FULL_LAYERS),
    FULL_Q_NORM.per_layer(&FULL_LAYERS),
    FULL_K_NORM.per_layer(&FULL_LAYERS),
    FULL_O_PROJ.per_layer(&FULL_LAYERS),
    FULL_POST_ATTENTION_LAYERNORM.per_layer(&FULL_LAYERS),
    FULL_PRE_FEEDFORWARD_LAYERNORM.per_layer(&FULL_LAYERS),
    FULL_GATE_PROJ.per_layer(&FULL_LAYERS),
    FULL_UP_PROJ.per_layer(&FULL_LAYERS),
    FULL_DOWN_PROJ.per_layer(&FULL_LAYERS),
    FULL_POST_FEEDFORWARD_LAYERNORM.per_layer(&FULL_LAYERS),
    NORM.once(),
    LM_HEAD.tied(),
];
