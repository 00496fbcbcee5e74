//! mistral-small-4-nvfp4: the tensors of its checkpoint.
//! Generated from model-specs/mistral-small-4-nvfp4; edit the TOMLs there, then `cargo build`.

use tenon_core::weights::{
    EmbeddingSpec, GatedExpertNames, GatedExpertsSpec, LatentUpSpec, LinearSpec,
    NormSpec, PlannedTensor, StorageFormat,
};

use super::layers::BLOCK_LAYERS;

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[StorageFormat::Nvfp4, StorageFormat::Bf16];

pub(super) const EMBED_TOKENS: EmbeddingSpec<131072, 4096> = EmbeddingSpec::new(
    "tok_embeddings.weight",
    ACCEPT,
);
pub(super) const INPUT_LAYERNORM: NormSpec<4096> = NormSpec::new(
    "layers.{layer}.attention_norm.weight",
    ACCEPT,
);
pub(super) const Q_A_PROJ: LinearSpec<1024, 4096> = LinearSpec::new(
    "layers.{layer}.attention.wq_a.weight",
    ACCEPT,
);
pub(super) const Q_A_LAYERNORM: NormSpec<1024> = NormSpec::new(
    "layers.{layer}.attention.q_a_norm.weight",
    ACCEPT,
);
pub(super) const Q_B_PROJ: LinearSpec<4096, 1024> = LinearSpec::new(
    "layers.{layer}.attention.wq_b.weight",
    ACCEPT,
);
pub(super) const KV_A_PROJ: LinearSpec<320, 4096> = LinearSpec::new(
    "layers.{layer}.attention.wkv_a_with_mqa.weight",
    ACCEPT,
);
pub(super) const KV_A_LAYERNORM: NormSpec<256> = NormSpec::new(
    "layers.{layer}.attention.kv_a_norm.weight",
    ACCEPT,
);
pub(super) const KV_B_PROJ: LatentUpSpec<32, 64, 128, 256> = LatentUpSpec::new(
    "layers.{layer}.attention.wkv_b.weight",
    ACCEPT,
);
pub(super) const O_PROJ: LinearSpec<4096, 4096> = LinearSpec::new(
    "layers.{layer}.attention.wo.weight",
    ACCEPT,
);
pub(super) const POST_ATTENTION_LAYERNORM: NormSpec<4096> = NormSpec::new(
    "layers.{layer}.ffn_norm.weight",
    ACCEPT,
);
pub(super) const ROUTER: LinearSpec<128, 4096> = LinearSpec::new(
    "layers.{layer}.gate.weight",
    ACCEPT,
);
pub(super) const EXPERTS: GatedExpertsSpec<128, 4096, 2048> = GatedExpertsSpec::new(
    GatedExpertNames::Each {
        gate: "layers.{layer}.experts.{expert}.w1.weight",
        up: "layers.{layer}.experts.{expert}.w3.weight",
        down: "layers.{layer}.experts.{expert}.w2.weight",
    },
    ACCEPT,
);
pub(super) const SHARED_GATE_PROJ: LinearSpec<2048, 4096> = LinearSpec::new(
    "layers.{layer}.shared_experts.w1.weight",
    ACCEPT,
);
pub(super) const SHARED_UP_PROJ: LinearSpec<2048, 4096> = LinearSpec::new(
    "layers.{layer}.shared_experts.w3.weight",
    ACCEPT,
);
pub(super) const SHARED_DOWN_PROJ: LinearSpec<4096, 2048> = LinearSpec::new(
    "layers.{layer}.shared_experts.w2.weight",
    ACCEPT,
);
pub(super) const NORM: NormSpec<4096> = NormSpec::new("norm.weight", ACCEPT);
pub(super) const LM_HEAD: LinearSpec<131072, 4096> = LinearSpec::new(
    "output.weight",
    ACCEPT,
);

/// Every tensor that the checkpoint must hold, and how it is kept.
pub const TENSORS: [PlannedTensor; 21] = [
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
    PlannedTensor::ignored("vision_encoder.*", "the vision part is not compiled"),
    PlannedTensor::ignored(
        "vision_language_adapter.*",
        "the vision part is not compiled",
    ),
    PlannedTensor::ignored("patch_merger.*", "the vision part is not compiled"),
    PlannedTensor::ignored("pre_mm_projector_norm.*", "the vision part is not compiled"),
];
