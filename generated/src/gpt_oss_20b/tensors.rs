//! gpt-oss-20b: the tensors of its checkpoint.
//! Generated from model-specs/gpt-oss-20b; edit the TOMLs there, then `cargo build`.

use tenon_core::weights::{
    BiasSpec, EmbeddingSpec, GatedExpertNames, GatedExpertsSpec, LinearSpec, NormSpec,
    PlannedTensor, StorageFormat, VectorSpec,
};

use super::layers::{FULL_LAYERS, LOCAL_LAYERS};

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[StorageFormat::Mxfp4, StorageFormat::Bf16];

pub(super) const EMBED_TOKENS: EmbeddingSpec<201088, 2880> = EmbeddingSpec::new(
    "model.embed_tokens.weight",
    ACCEPT,
);
pub(super) const LOCAL_INPUT_LAYERNORM: NormSpec<2880> = NormSpec::new(
    "model.layers.{layer}.input_layernorm.weight",
    ACCEPT,
);
pub(super) const LOCAL_Q_PROJ: LinearSpec<4096, 2880> = LinearSpec::new(
    "model.layers.{layer}.self_attn.q_proj.weight",
    ACCEPT,
);
pub(super) const LOCAL_Q_BIAS: BiasSpec<4096> = BiasSpec::new(
    "model.layers.{layer}.self_attn.q_proj.bias",
    ACCEPT,
);
pub(super) const LOCAL_K_PROJ: LinearSpec<512, 2880> = LinearSpec::new(
    "model.layers.{layer}.self_attn.k_proj.weight",
    ACCEPT,
);
pub(super) const LOCAL_K_BIAS: BiasSpec<512> = BiasSpec::new(
    "model.layers.{layer}.self_attn.k_proj.bias",
    ACCEPT,
);
pub(super) const LOCAL_V_PROJ: LinearSpec<512, 2880> = LinearSpec::new(
    "model.layers.{layer}.self_attn.v_proj.weight",
    ACCEPT,
);
pub(super) const LOCAL_V_BIAS: BiasSpec<512> = BiasSpec::new(
    "model.layers.{layer}.self_attn.v_proj.bias",
    ACCEPT,
);
pub(super) const LOCAL_SINKS: VectorSpec<64> = VectorSpec::new(
    "model.layers.{layer}.self_attn.sinks",
    ACCEPT,
);
pub(super) const LOCAL_O_PROJ: LinearSpec<2880, 4096> = LinearSpec::new(
    "model.layers.{layer}.self_attn.o_proj.weight",
    ACCEPT,
);
pub(super) const LOCAL_O_BIAS: BiasSpec<2880> = BiasSpec::new(
    "model.layers.{layer}.self_attn.o_proj.bias",
    ACCEPT,
);
pub(super) const LOCAL_POST_ATTENTION_LAYERNORM: NormSpec<2880> = NormSpec::new(
    "model.layers.{layer}.post_attention_layernorm.weight",
    ACCEPT,
);
pub(super) const LOCAL_ROUTER: LinearSpec<32, 2880> = LinearSpec::new(
    "model.layers.{layer}.mlp.router.weight",
    ACCEPT,
);
pub(super) const LOCAL_ROUTER_BIAS: BiasSpec<32> = BiasSpec::new(
    "model.layers.{layer}.mlp.router.bias",
    ACCEPT,
);
pub(super) const LOCAL_EXPERTS: GatedExpertsSpec<32, 2880, 2880> = GatedExpertsSpec::new(
    GatedExpertNames::Transposed {
        gate_up: "model.layers.{layer}.mlp.experts.gate_up_proj",
        gate_up_bias: "model.layers.{layer}.mlp.experts.gate_up_proj_bias",
        down: "model.layers.{layer}.mlp.experts.down_proj",
        down_bias: "model.layers.{layer}.mlp.experts.down_proj_bias",
    },
    ACCEPT,
);
pub(super) const FULL_INPUT_LAYERNORM: NormSpec<2880> = NormSpec::new(
    "model.layers.{layer}.input_layernorm.weight",
    ACCEPT,
);
pub(super) const FULL_Q_PROJ: LinearSpec<4096, 2880> = LinearSpec::new(
    "model.layers.{layer}.self_attn.q_proj.weight",
    ACCEPT,
);
pub(super) const FULL_Q_BIAS: BiasSpec<4096> = BiasSpec::new(
    "model.layers.{layer}.self_attn.q_proj.bias",
    ACCEPT,
);
pub(super) const FULL_K_PROJ: LinearSpec<512, 2880> = LinearSpec::new(
    "model.layers.{layer}.self_attn.k_proj.weight",
    ACCEPT,
);
pub(super) const FULL_K_BIAS: BiasSpec<512> = BiasSpec::new(
    "model.layers.{layer}.self_attn.k_proj.bias",
    ACCEPT,
);
pub(super) const FULL_V_PROJ: LinearSpec<512, 2880> = LinearSpec::new(
    "model.layers.{layer}.self_attn.v_proj.weight",
    ACCEPT,
);
pub(super) const FULL_V_BIAS: BiasSpec<512> = BiasSpec::new(
    "model.layers.{layer}.self_attn.v_proj.bias",
    ACCEPT,
);
pub(super) const FULL_SINKS: VectorSpec<64> = VectorSpec::new(
    "model.layers.{layer}.self_attn.sinks",
    ACCEPT,
);
pub(super) const FULL_O_PROJ: LinearSpec<2880, 4096> = LinearSpec::new(
    "model.layers.{layer}.self_attn.o_proj.weight",
    ACCEPT,
);
pub(super) const FULL_O_BIAS: BiasSpec<2880> = BiasSpec::new(
    "model.layers.{layer}.self_attn.o_proj.bias",
    ACCEPT,
);
pub(super) const FULL_POST_ATTENTION_LAYERNORM: NormSpec<2880> = NormSpec::new(
    "model.layers.{layer}.post_attention_layernorm.weight",
    ACCEPT,
);
pub(super) const FULL_ROUTER: LinearSpec<32, 2880> = LinearSpec::new(
    "model.layers.{layer}.mlp.router.weight",
    ACCEPT,
);
pub(super) const FULL_ROUTER_BIAS: BiasSpec<32> = BiasSpec::new(
    "model.layers.{layer}.mlp.router.bias",
    ACCEPT,
);
pub(super) const FULL_EXPERTS: GatedExpertsSpec<32, 2880, 2880> = GatedExpertsSpec::new(
    GatedExpertNames::Transposed {
        gate_up: "model.layers.{layer}.mlp.experts.gate_up_proj",
        gate_up_bias: "model.layers.{layer}.mlp.experts.gate_up_proj_bias",
        down: "model.layers.{layer}.mlp.experts.down_proj",
        down_bias: "model.layers.{layer}.mlp.experts.down_proj_bias",
    },
    ACCEPT,
);
pub(super) const NORM: NormSpec<2880> = NormSpec::new("model.norm.weight", ACCEPT);
pub(super) const LM_HEAD: LinearSpec<201088, 2880> = LinearSpec::new(
    "lm_head.weight",
    ACCEPT,
);

/// Every tensor that the checkpoint must hold, and how it is kept.
pub const TENSORS: [PlannedTensor; 31] = [
    EMBED_TOKENS.once(),
    LOCAL_INPUT_LAYERNORM.per_layer(&LOCAL_LAYERS),
    LOCAL_Q_PROJ.per_layer(&LOCAL_LAYERS),
    LOCAL_Q_BIAS.per_layer(&LOCAL_LAYERS),
    LOCAL_K_PROJ.per_layer(&LOCAL_LAYERS),
    LOCAL_K_BIAS.per_layer(&LOCAL_LAYERS),
    LOCAL_V_PROJ.per_layer(&LOCAL_LAYERS),
    LOCAL_V_BIAS.per_layer(&LOCAL_LAYERS),
    LOCAL_SINKS.per_layer(&LOCAL_LAYERS),
    LOCAL_O_PROJ.per_layer(&LOCAL_LAYERS),
    LOCAL_O_BIAS.per_layer(&LOCAL_LAYERS),
    LOCAL_POST_ATTENTION_LAYERNORM.per_layer(&LOCAL_LAYERS),
    LOCAL_ROUTER.per_layer(&LOCAL_LAYERS),
    LOCAL_ROUTER_BIAS.per_layer(&LOCAL_LAYERS),
    LOCAL_EXPERTS.per_layer(&LOCAL_LAYERS),
    FULL_INPUT_LAYERNORM.per_layer(&FULL_LAYERS),
    FULL_Q_PROJ.per_layer(&FULL_LAYERS),
    FULL_Q_BIAS.per_layer(&FULL_LAYERS),
    FULL_K_PROJ.per_layer(&FULL_LAYERS),
    FULL_K_BIAS.per_layer(&FULL_LAYERS),
    FULL_V_PROJ.per_layer(&FULL_LAYERS),
    FULL_V_BIAS.per_layer(&FULL_LAYERS),
    FULL_SINKS.per_layer(&FULL_LAYERS),
    FULL_O_PROJ.per_layer(&FULL_LAYERS),
    FULL_O_BIAS.per_layer(&FULL_LAYERS),
    FULL_POST_ATTENTION_LAYERNORM.per_layer(&FULL_LAYERS),
    FULL_ROUTER.per_layer(&FULL_LAYERS),
    FULL_ROUTER_BIAS.per_layer(&FULL_LAYERS),
    FULL_EXPERTS.per_layer(&FULL_LAYERS),
    NORM.once(),
    LM_HEAD.once(),
];
