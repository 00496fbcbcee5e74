//! qwen3.5-122b-a10b: the tensors of its checkpoint.
//! Generated from model-specs/qwen3.5-122b-a10b; edit the TOMLs there, then `cargo build`.

use tenon_core::weights::{
    ConvSpec, DecaySpec, EmbeddingSpec, GatedExpertNames, GatedExpertsSpec, LinearSpec,
    NormSpec, PlannedTensor, RowOrder, Segment, StorageFormat, VectorSpec,
};

use super::layers::{BLOCK_LINEAR_LAYERS, FULL_LAYERS};

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[
    StorageFormat::Bf16,
    StorageFormat::F16,
    StorageFormat::F32,
    StorageFormat::Nvfp4,
];

pub(super) const EMBED_TOKENS: EmbeddingSpec<248320, 3072> = EmbeddingSpec::new(
    "model.language_model.embed_tokens.weight",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_INPUT_LAYERNORM: NormSpec<3072> = NormSpec::new(
        "model.language_model.layers.{layer}.input_layernorm.weight",
        ACCEPT,
    )
    .plus_one();
pub(super) const BLOCK_LINEAR_IN_PROJ_QKV: LinearSpec<12288, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.linear_attn.in_proj_qkv.weight",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_IN_PROJ_Z: LinearSpec<8192, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.linear_attn.in_proj_z.weight",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_IN_PROJ_B: LinearSpec<64, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.linear_attn.in_proj_b.weight",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_IN_PROJ_A: LinearSpec<64, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.linear_attn.in_proj_a.weight",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_CONV1D: ConvSpec<12288, 4> = ConvSpec::new(
    "model.language_model.layers.{layer}.linear_attn.conv1d.weight",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_A_LOG: DecaySpec<64> = DecaySpec::new(
    "model.language_model.layers.{layer}.linear_attn.A_log",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_DT_BIAS: VectorSpec<64> = VectorSpec::new(
    "model.language_model.layers.{layer}.linear_attn.dt_bias",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_GATED_NORM: NormSpec<128> = NormSpec::new(
    "model.language_model.layers.{layer}.linear_attn.norm.weight",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_OUT_PROJ: LinearSpec<3072, 8192> = LinearSpec::new(
    "model.language_model.layers.{layer}.linear_attn.out_proj.weight",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_POST_ATTENTION_LAYERNORM: NormSpec<3072> = NormSpec::new(
        "model.language_model.layers.{layer}.post_attention_layernorm.weight",
        ACCEPT,
    )
    .plus_one();
pub(super) const BLOCK_LINEAR_ROUTER: LinearSpec<256, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.mlp.gate.weight",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_EXPERTS: GatedExpertsSpec<256, 3072, 1024> = GatedExpertsSpec::new(
    GatedExpertNames::Stacked {
        gate_up: "model.language_model.layers.{layer}.mlp.experts.gate_up_proj",
        down: "model.language_model.layers.{layer}.mlp.experts.down_proj",
    },
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_SHARED_GATE_PROJ: LinearSpec<1024, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.mlp.shared_expert.gate_proj.weight",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_SHARED_UP_PROJ: LinearSpec<1024, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.mlp.shared_expert.up_proj.weight",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_SHARED_DOWN_PROJ: LinearSpec<3072, 1024> = LinearSpec::new(
    "model.language_model.layers.{layer}.mlp.shared_expert.down_proj.weight",
    ACCEPT,
);
pub(super) const BLOCK_LINEAR_SHARED_EXPERT_GATE: LinearSpec<1, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.mlp.shared_expert_gate.weight",
    ACCEPT,
);
pub(super) const FULL_INPUT_LAYERNORM: NormSpec<3072> = NormSpec::new(
        "model.language_model.layers.{layer}.input_layernorm.weight",
        ACCEPT,
    )
    .plus_one();
pub(super) const FULL_Q_PROJ: LinearSpec<8192, 3072> = LinearSpec::new(
        "model.language_model.layers.{layer}.self_attn.q_proj.weight",
        ACCEPT,
    )
    .rows(
        RowOrder::Parts(
            &[
                Segment {
                    groups: 32,
                    group_rows: 512,
                    first: 0,
                    rows: 256,
                },
            ],
        ),
    );
pub(super) const FULL_Q_GATE: LinearSpec<8192, 3072> = LinearSpec::new(
        "model.language_model.layers.{layer}.self_attn.q_proj.weight",
        ACCEPT,
    )
    .rows(
        RowOrder::Parts(
            &[
                Segment {
                    groups: 32,
                    group_rows: 512,
                    first: 256,
                    rows: 256,
                },
            ],
        ),
    );
pub(super) const FULL_K_PROJ: LinearSpec<512, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.self_attn.k_proj.weight",
    ACCEPT,
);
pub(super) const FULL_V_PROJ: LinearSpec<512, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.self_attn.v_proj.weight",
    ACCEPT,
);
pub(super) const FULL_Q_NORM: NormSpec<256> = NormSpec::new(
        "model.language_model.layers.{layer}.self_attn.q_norm.weight",
        ACCEPT,
    )
    .plus_one();
pub(super) const FULL_K_NORM: NormSpec<256> = NormSpec::new(
        "model.language_model.layers.{layer}.self_attn.k_norm.weight",
        ACCEPT,
    )
    .plus_one();
pub(super) const FULL_O_PROJ: LinearSpec<3072, 8192> = LinearSpec::new(
    "model.language_model.layers.{layer}.self_attn.o_proj.weight",
    ACCEPT,
);
pub(super) const FULL_POST_ATTENTION_LAYERNORM: NormSpec<3072> = NormSpec::new(
        "model.language_model.layers.{layer}.post_attention_layernorm.weight",
        ACCEPT,
    )
    .plus_one();
pub(super) const FULL_ROUTER: LinearSpec<256, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.mlp.gate.weight",
    ACCEPT,
);
pub(super) const FULL_EXPERTS: GatedExpertsSpec<256, 3072, 1024> = GatedExpertsSpec::new(
    GatedExpertNames::Stacked {
        gate_up: "model.language_model.layers.{layer}.mlp.experts.gate_up_proj",
        down: "model.language_model.layers.{layer}.mlp.experts.down_proj",
    },
    ACCEPT,
);
pub(super) const FULL_SHARED_GATE_PROJ: LinearSpec<1024, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.mlp.shared_expert.gate_proj.weight",
    ACCEPT,
);
pub(super) const FULL_SHARED_UP_PROJ: LinearSpec<1024, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.mlp.shared_expert.up_proj.weight",
    ACCEPT,
);
pub(super) const FULL_SHARED_DOWN_PROJ: LinearSpec<3072, 1024> = LinearSpec::new(
    "model.language_model.layers.{layer}.mlp.shared_expert.down_proj.weight",
    ACCEPT,
);
pub(super) const FULL_SHARED_EXPERT_GATE: LinearSpec<1, 3072> = LinearSpec::new(
    "model.language_model.layers.{layer}.mlp.shared_expert_gate.weight",
    ACCEPT,
);
pub(super) const NORM: NormSpec<3072> = NormSpec::new(
        "model.language_model.norm.weight",
        ACCEPT,
    )
    .plus_one();
pub(super) const LM_HEAD: LinearSpec<248320, 3072> = LinearSpec::new(
    "lm_head.weight",
    ACCEPT,
);

/// Every tensor that the checkpoint must hold, and how it is kept.
pub const TENSORS: [PlannedTensor; 37] = [
    EMBED_TOKENS.once(),
    BLOCK_LINEAR_INPUT_LAYERNORM.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_IN_PROJ_QKV.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_IN_PROJ_Z.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_IN_PROJ_B.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_IN_PROJ_A.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_CONV1D.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_A_LOG.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_DT_BIAS.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_GATED_NORM.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_OUT_PROJ.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_POST_ATTENTION_LAYERNORM.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_ROUTER.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_EXPERTS.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_SHARED_GATE_PROJ.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_SHARED_UP_PROJ.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_SHARED_DOWN_PROJ.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_SHARED_EXPERT_GATE.per_layer(&BLOCK_LINEAR_LAYERS),
    FULL_INPUT_LAYERNORM.per_layer(&FULL_LAYERS),
    FULL_Q_PROJ.per_layer(&FULL_LAYERS),
    FULL_Q_GATE.per_layer(&FULL_LAYERS),
    FULL_K_PROJ.per_layer(&FULL_LAYERS),
    FULL_V_PROJ.per_layer(&FULL_LAYERS),
    FULL_Q_NORM.per_layer(&FULL_LAYERS),
    FULL_K_NORM.per_layer(&FULL_LAYERS),
    FULL_O_PROJ.per_layer(&FULL_LAYERS),
    FULL_POST_ATTENTION_LAYERNORM.per_layer(&FULL_LAYERS),
    FULL_ROUTER.per_layer(&FULL_LAYERS),
    FULL_EXPERTS.per_layer(&FULL_LAYERS),
    FULL_SHARED_GATE_PROJ.per_layer(&FULL_LAYERS),
    FULL_SHARED_UP_PROJ.per_layer(&FULL_LAYERS),
    FULL_SHARED_DOWN_PROJ.per_layer(&FULL_LAYERS),
    FULL_SHARED_EXPERT_GATE.per_layer(&FULL_LAYERS),
    NORM.once(),
    LM_HEAD.once(),
    PlannedTensor::ignored("model.visual.*", "the vision part is not compiled"),
    PlannedTensor::ignored("mtp.*", "speculation heads are not used"),
];
