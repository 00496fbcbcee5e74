//! smollm2-135m-instruct: the tensors of its checkpoint.
//! Generated from model-specs/smollm2-135m-instruct; edit the TOMLs there, then `cargo build`.

use tenon_core::weights::{
    EmbeddingSpec, LinearSpec, NormSpec, PlannedTensor, RowOrder, StorageFormat,
};

use super::layers::BLOCK_LAYERS;

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[
    StorageFormat::Q4_1,
    StorageFormat::Q8_0,
    StorageFormat::Q4_0,
    StorageFormat::Bf16,
    StorageFormat::F16,
    StorageFormat::F32,
];

pub(super) const EMBED_TOKENS: EmbeddingSpec<49152, 576> = EmbeddingSpec::new(
    "token_embd.weight",
    ACCEPT,
);
pub(super) const INPUT_LAYERNORM: NormSpec<576> = NormSpec::new(
    "blk.{layer}.attn_norm.weight",
    ACCEPT,
);
pub(super) const Q_PROJ: LinearSpec<576, 576> = LinearSpec::new(
        "blk.{layer}.attn_q.weight",
        ACCEPT,
    )
    .rows(RowOrder::RopePairs {
        heads: 9,
        rotary_dim: 64,
    });
pub(super) const K_PROJ: LinearSpec<192, 576> = LinearSpec::new(
        "blk.{layer}.attn_k.weight",
        ACCEPT,
    )
    .rows(RowOrder::RopePairs {
        heads: 3,
        rotary_dim: 64,
    });
pub(super) const V_PROJ: LinearSpec<192, 576> = LinearSpec::new(
    "blk.{layer}.attn_v.weight",
    ACCEPT,
);
pub(super) const O_PROJ: LinearSpec<576, 576> = LinearSpec::new(
    "blk.{layer}.attn_output.weight",
    ACCEPT,
);
pub(super) const POST_ATTENTION_LAYERNORM: NormSpec<576> = NormSpec::new(
    "blk.{layer}.ffn_norm.weight",
    ACCEPT,
);
pub(super) const GATE_PROJ: LinearSpec<1536, 576> = LinearSpec::new(
    "blk.{layer}.ffn_gate.weight",
    ACCEPT,
);
pub(super) const UP_PROJ: LinearSpec<1536, 576> = LinearSpec::new(
    "blk.{layer}.ffn_up.weight",
    ACCEPT,
);
pub(super) const DOWN_PROJ: LinearSpec<576, 1536> = LinearSpec::new(
    "blk.{layer}.ffn_down.weight",
    ACCEPT,
);
pub(super) const NORM: NormSpec<576> = NormSpec::new("output_norm.weight", ACCEPT);
pub(super) const LM_HEAD: LinearSpec<49152, 576> = LinearSpec::new(
    "token_embd.weight",
    ACCEPT,
);

/// Every tensor that the checkpoint must hold, and how it is kept.
pub const TENSORS: [PlannedTensor; 12] = [
    EMBED_TOKENS.once(),
    INPUT_LAYERNORM.per_layer(&BLOCK_LAYERS),
    Q_PROJ.per_layer(&BLOCK_LAYERS),
    K_PROJ.per_layer(&BLOCK_LAYERS),
    V_PROJ.per_layer(&BLOCK_LAYERS),
    O_PROJ.per_layer(&BLOCK_LAYERS),
    POST_ATTENTION_LAYERNORM.per_layer(&BLOCK_LAYERS),
    GATE_PROJ.per_layer(&BLOCK_LAYERS),
    UP_PROJ.per_layer(&BLOCK_LAYERS),
    DOWN_PROJ.per_layer(&BLOCK_LAYERS),
    NORM.once(),
    LM_HEAD.tied(),
];
