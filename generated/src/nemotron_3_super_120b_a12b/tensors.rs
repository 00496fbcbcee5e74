//! nemotron-3-super-120b-a12b: the tensors of its checkpoint.
//! Generated from model-specs/nemotron-3-super-120b-a12b; edit the TOMLs there, then `cargo build`.

use tenon_core::weights::{
    BiasSpec, ConvSpec, DecaySpec, EmbeddingSpec, LinearSpec, NormSpec, PlainExpertNames,
    PlainExpertsSpec, PlannedTensor, RowOrder, Segment, StorageFormat, VectorSpec,
};

use super::layers::{BLOCK_ATTENTION_LAYERS, EXPERTS_LAYERS, MAMBA_LAYERS};

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[
    StorageFormat::Bf16,
    StorageFormat::F16,
    StorageFormat::F32,
    StorageFormat::Nvfp4,
];

pub(super) const EMBED_TOKENS: EmbeddingSpec<131072, 4096> = EmbeddingSpec::new(
    "backbone.embeddings.weight",
    ACCEPT,
);
pub(super) const MAMBA_NORM: NormSpec<4096> = NormSpec::new(
    "backbone.layers.{layer}.norm.weight",
    ACCEPT,
);
pub(super) const MAMBA_IN_PROJ_Z: LinearSpec<8192, 4096> = LinearSpec::new(
        "backbone.layers.{layer}.mixer.in_proj.weight",
        ACCEPT,
    )
    .rows(
        RowOrder::Parts(
            &[
                Segment {
                    groups: 1,
                    group_rows: 18560,
                    first: 0,
                    rows: 8192,
                },
            ],
        ),
    );
pub(super) const MAMBA_IN_PROJ_XBC: LinearSpec<10240, 4096> = LinearSpec::new(
        "backbone.layers.{layer}.mixer.in_proj.weight",
        ACCEPT,
    )
    .rows(
        RowOrder::Parts(
            &[
                Segment {
                    groups: 1,
                    group_rows: 18560,
                    first: 8192,
                    rows: 10240,
                },
            ],
        ),
    );
pub(super) const MAMBA_IN_PROJ_DT: LinearSpec<128, 4096> = LinearSpec::new(
        "backbone.layers.{layer}.mixer.in_proj.weight",
        ACCEPT,
    )
    .rows(
        RowOrder::Parts(
            &[
                Segment {
                    groups: 1,
                    group_rows: 18560,
                    first: 18432,
                    rows: 128,
                },
            ],
        ),
    );
pub(super) const MAMBA_CONV1D: ConvSpec<10240, 4> = ConvSpec::new(
    "backbone.layers.{layer}.mixer.conv1d.weight",
    ACCEPT,
);
pub(super) const MAMBA_CONV1D_BIAS: BiasSpec<10240> = BiasSpec::new(
    "backbone.layers.{layer}.mixer.conv1d.bias",
    ACCEPT,
);
pub(super) const MAMBA_A_LOG: DecaySpec<128> = DecaySpec::new(
    "backbone.layers.{layer}.mixer.A_log",
    ACCEPT,
);
pub(super) const MAMBA_D: VectorSpec<128> = VectorSpec::new(
    "backbone.layers.{layer}.mixer.D",
    ACCEPT,
);
pub(super) const MAMBA_DT_BIAS: VectorSpec<128> = VectorSpec::new(
    "backbone.layers.{layer}.mixer.dt_bias",
    ACCEPT,
);
pub(super) const MAMBA_GATED_NORM: NormSpec<8192> = NormSpec::new(
    "backbone.layers.{layer}.mixer.norm.weight",
    ACCEPT,
);
pub(super) const MAMBA_OUT_PROJ: LinearSpec<4096, 8192> = LinearSpec::new(
    "backbone.layers.{layer}.mixer.out_proj.weight",
    ACCEPT,
);
pub(super) const EXPERTS_NORM: NormSpec<4096> = NormSpec::new(
    "backbone.layers.{layer}.norm.weight",
    ACCEPT,
);
pub(super) const EXPERTS_ROUTER: LinearSpec<512, 4096> = LinearSpec::new(
    "backbone.layers.{layer}.mixer.gate.weight",
    ACCEPT,
);
pub(super) const EXPERTS_E_SCORE_CORRECTION_BIAS: VectorSpec<512> = VectorSpec::new(
    "backbone.layers.{layer}.mixer.gate.e_score_correction_bias",
    ACCEPT,
);
pub(super) const EXPERTS_FC1_LATENT_PROJ: LinearSpec<1024, 4096> = LinearSpec::new(
    "backbone.layers.{layer}.mixer.fc1_latent_proj.weight",
    ACCEPT,
);
pub(super) const EXPERTS_FC2_LATENT_PROJ: LinearSpec<4096, 1024> = LinearSpec::new(
    "backbone.layers.{layer}.mixer.fc2_latent_proj.weight",
    ACCEPT,
);
pub(super) const EXPERTS_EXPERTS: PlainExpertsSpec<512, 1024, 2688> = PlainExpertsSpec::new(
    PlainExpertNames::Each {
        up: "backbone.layers.{layer}.mixer.experts.{expert}.up_proj.weight",
        down: "backbone.layers.{layer}.mixer.experts.{expert}.down_proj.weight",
    },
    ACCEPT,
);
pub(super) const EXPERTS_SHARED_UP_PROJ: LinearSpec<5376, 4096> = LinearSpec::new(
    "backbone.layers.{layer}.mixer.shared_experts.up_proj.weight",
    ACCEPT,
);
pub(super) const EXPERTS_SHARED_DOWN_PROJ: LinearSpec<4096, 5376> = LinearSpec::new(
    "backbone.layers.{layer}.mixer.shared_experts.down_proj.weight",
    ACCEPT,
);
pub(super) const BLOCK_ATTENTION_NORM: NormSpec<4096> = NormSpec::new(
    "backbone.layers.{layer}.norm.weight",
    ACCEPT,
);
pub(super) const BLOCK_ATTENTION_Q_PROJ: LinearSpec<4096, 4096> = LinearSpec::new(
    "backbone.layers.{layer}.mixer.q_proj.weight",
    ACCEPT,
);
pub(super) const BLOCK_ATTENTION_K_PROJ: LinearSpec<256, 4096> = LinearSpec::new(
    "backbone.layers.{layer}.mixer.k_proj.weight",
    ACCEPT,
);
pub(super) const BLOCK_ATTENTION_V_PROJ: LinearSpec<256, 4096> = LinearSpec::new(
    "backbone.layers.{layer}.mixer.v_proj.weight",
    ACCEPT,
);
pub(super) const BLOCK_ATTENTION_O_PROJ: LinearSpec<4096, 4096> = LinearSpec::new(
    "backbone.layers.{layer}.mixer.o_proj.weight",
    ACCEPT,
);
pub(super) const NORM: NormSpec<4096> = NormSpec::new("backbone.norm_f.weight", ACCEPT);
pub(super) const LM_HEAD: LinearSpec<131072, 4096> = LinearSpec::new(
    "lm_head.weight",
    ACCEPT,
);

/// Every tensor that the checkpoint must hold, and how it is kept.
pub const TENSORS: [PlannedTensor; 28] = [
    EMBED_TOKENS.once(),
    MAMBA_NORM.per_layer(&MAMBA_LAYERS),
    MAMBA_IN_PROJ_Z.per_layer(&MAMBA_LAYERS),
    MAMBA_IN_PROJ_XBC.per_layer(&MAMBA_LAYERS),
    MAMBA_IN_PROJ_DT.per_layer(&MAMBA_LAYERS),
    MAMBA_CONV1D.per_layer(&MAMBA_LAYERS),
    MAMBA_CONV1D_BIAS.per_layer(&MAMBA_LAYERS),
    MAMBA_A_LOG.per_layer(&MAMBA_LAYERS),
    MAMBA_D.per_layer(&MAMBA_LAYERS),
    MAMBA_DT_BIAS.per_layer(&MAMBA_LAYERS),
    MAMBA_GATED_NORM.per_layer(&MAMBA_LAYERS),
    MAMBA_OUT_PROJ.per_layer(&MAMBA_LAYERS),
    EXPERTS_NORM.per_layer(&EXPERTS_LAYERS),
    EXPERTS_ROUTER.per_layer(&EXPERTS_LAYERS),
    EXPERTS_E_SCORE_CORRECTION_BIAS.per_layer(&EXPERTS_LAYERS),
    EXPERTS_FC1_LATENT_PROJ.per_layer(&EXPERTS_LAYERS),
    EXPERTS_FC2_LATENT_PROJ.per_layer(&EXPERTS_LAYERS),
    EXPERTS_EXPERTS.per_layer(&EXPERTS_LAYERS),
    EXPERTS_SHARED_UP_PROJ.per_layer(&EXPERTS_LAYERS),
    EXPERTS_SHARED_DOWN_PROJ.per_layer(&EXPERTS_LAYERS),
    BLOCK_ATTENTION_NORM.per_layer(&BLOCK_ATTENTION_LAYERS),
    BLOCK_ATTENTION_Q_PROJ.per_layer(&BLOCK_ATTENTION_LAYERS),
    BLOCK_ATTENTION_K_PROJ.per_layer(&BLOCK_ATTENTION_LAYERS),
    BLOCK_ATTENTION_V_PROJ.per_layer(&BLOCK_ATTENTION_LAYERS),
    BLOCK_ATTENTION_O_PROJ.per_layer(&BLOCK_ATTENTION_LAYERS),
    NORM.once(),
    LM_HEAD.once(),
    PlannedTensor::ignored("mtp.*", "speculation heads are not used"),
];
