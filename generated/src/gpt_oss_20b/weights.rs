//! gpt-oss-20b: the tensors of its checkpoint, and the weights as they are kept.
//! Generated from model-specs/gpt-oss-20b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::linear::{Bias, Embedding, Linear, Norm, Vector};
use tenon_core::moe::GatedExperts;
use tenon_core::weights::{
    BiasSpec, Checkpoint, CheckpointKind, EmbeddingSpec, GatedExpertNames,
    GatedExpertsSpec, LinearSpec, LoadError, Loader, NormSpec, StorageFormat,
    TensorCheck, VectorSpec,
};

use super::CONFIG;

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[StorageFormat::Mxfp4, StorageFormat::Bf16];

/// Layers that are `local`.
pub const LOCAL_LAYERS: [usize; 12] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22];
/// Layers that are `full`.
pub const FULL_LAYERS: [usize; 12] = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23];

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `local`
    Local,
    /// `full`
    Full,
}
/// For each layer, what it is and its index among its kind.
pub const PATTERN: [(Kind, usize); 24] = [
    (Kind::Local, 0),
    (Kind::Full, 0),
    (Kind::Local, 1),
    (Kind::Full, 1),
    (Kind::Local, 2),
    (Kind::Full, 2),
    (Kind::Local, 3),
    (Kind::Full, 3),
    (Kind::Local, 4),
    (Kind::Full, 4),
    (Kind::Local, 5),
    (Kind::Full, 5),
    (Kind::Local, 6),
    (Kind::Full, 6),
    (Kind::Local, 7),
    (Kind::Full, 7),
    (Kind::Local, 8),
    (Kind::Full, 8),
    (Kind::Local, 9),
    (Kind::Full, 9),
    (Kind::Local, 10),
    (Kind::Full, 10),
    (Kind::Local, 11),
    (Kind::Full, 11),
];

const EMBED_TOKENS: EmbeddingSpec<201088, 2880> = EmbeddingSpec::new("model.embed_tokens.weight", ACCEPT);
const LOCAL_INPUT_LAYERNORM: NormSpec<2880> = NormSpec::new("model.layers.{layer}.input_layernorm.weight", ACCEPT);
const LOCAL_Q_PROJ: LinearSpec<4096, 2880> = LinearSpec::new("model.layers.{layer}.self_attn.q_proj.weight", ACCEPT);
const LOCAL_Q_BIAS: BiasSpec<4096> = BiasSpec::new("model.layers.{layer}.self_attn.q_proj.bias", ACCEPT);
const LOCAL_K_PROJ: LinearSpec<512, 2880> = LinearSpec::new("model.layers.{layer}.self_attn.k_proj.weight", ACCEPT);
const LOCAL_K_BIAS: BiasSpec<512> = BiasSpec::new("model.layers.{layer}.self_attn.k_proj.bias", ACCEPT);
const LOCAL_V_PROJ: LinearSpec<512, 2880> = LinearSpec::new("model.layers.{layer}.self_attn.v_proj.weight", ACCEPT);
const LOCAL_V_BIAS: BiasSpec<512> = BiasSpec::new("model.layers.{layer}.self_attn.v_proj.bias", ACCEPT);
const LOCAL_SINKS: VectorSpec<64> = VectorSpec::new("model.layers.{layer}.self_attn.sinks", ACCEPT);
const LOCAL_O_PROJ: LinearSpec<2880, 4096> = LinearSpec::new("model.layers.{layer}.self_attn.o_proj.weight", ACCEPT);
const LOCAL_O_BIAS: BiasSpec<2880> = BiasSpec::new("model.layers.{layer}.self_attn.o_proj.bias", ACCEPT);
const LOCAL_POST_ATTENTION_LAYERNORM: NormSpec<2880> = NormSpec::new("model.layers.{layer}.post_attention_layernorm.weight", ACCEPT);
const LOCAL_ROUTER: LinearSpec<32, 2880> = LinearSpec::new("model.layers.{layer}.mlp.router.weight", ACCEPT);
const LOCAL_ROUTER_BIAS: BiasSpec<32> = BiasSpec::new("model.layers.{layer}.mlp.router.bias", ACCEPT);
const LOCAL_EXPERTS: GatedExpertsSpec<32, 2880, 2880> = GatedExpertsSpec::new(GatedExpertNames::Transposed { gate_up: "model.layers.{layer}.mlp.experts.gate_up_proj", gate_up_bias: "model.layers.{layer}.mlp.experts.gate_up_proj_bias", down: "model.layers.{layer}.mlp.experts.down_proj", down_bias: "model.layers.{layer}.mlp.experts.down_proj_bias" }, ACCEPT);
const FULL_INPUT_LAYERNORM: NormSpec<2880> = NormSpec::new("model.layers.{layer}.input_layernorm.weight", ACCEPT);
const FULL_Q_PROJ: LinearSpec<4096, 2880> = LinearSpec::new("model.layers.{layer}.self_attn.q_proj.weight", ACCEPT);
const FULL_Q_BIAS: BiasSpec<4096> = BiasSpec::new("model.layers.{layer}.self_attn.q_proj.bias", ACCEPT);
const FULL_K_PROJ: LinearSpec<512, 2880> = LinearSpec::new("model.layers.{layer}.self_attn.k_proj.weight", ACCEPT);
const FULL_K_BIAS: BiasSpec<512> = BiasSpec::new("model.layers.{layer}.self_attn.k_proj.bias", ACCEPT);
const FULL_V_PROJ: LinearSpec<512, 2880> = LinearSpec::new("model.layers.{layer}.self_attn.v_proj.weight", ACCEPT);
const FULL_V_BIAS: BiasSpec<512> = BiasSpec::new("model.layers.{layer}.self_attn.v_proj.bias", ACCEPT);
const FULL_SINKS: VectorSpec<64> = VectorSpec::new("model.layers.{layer}.self_attn.sinks", ACCEPT);
const FULL_O_PROJ: LinearSpec<2880, 4096> = LinearSpec::new("model.layers.{layer}.self_attn.o_proj.weight", ACCEPT);
const FULL_O_BIAS: BiasSpec<2880> = BiasSpec::new("model.layers.{layer}.self_attn.o_proj.bias", ACCEPT);
const FULL_POST_ATTENTION_LAYERNORM: NormSpec<2880> = NormSpec::new("model.layers.{layer}.post_attention_layernorm.weight", ACCEPT);
const FULL_ROUTER: LinearSpec<32, 2880> = LinearSpec::new("model.layers.{layer}.mlp.router.weight", ACCEPT);
const FULL_ROUTER_BIAS: BiasSpec<32> = BiasSpec::new("model.layers.{layer}.mlp.router.bias", ACCEPT);
const FULL_EXPERTS: GatedExpertsSpec<32, 2880, 2880> = GatedExpertsSpec::new(GatedExpertNames::Transposed { gate_up: "model.layers.{layer}.mlp.experts.gate_up_proj", gate_up_bias: "model.layers.{layer}.mlp.experts.gate_up_proj_bias", down: "model.layers.{layer}.mlp.experts.down_proj", down_bias: "model.layers.{layer}.mlp.experts.down_proj_bias" }, ACCEPT);
const NORM: NormSpec<2880> = NormSpec::new("model.norm.weight", ACCEPT);
const LM_HEAD: LinearSpec<201088, 2880> = LinearSpec::new("lm_head.weight", ACCEPT);

/// Every tensor that the checkpoint must hold.
pub const TENSORS: [TensorCheck; 31] = [
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

/// Weights of one layer of kind `local`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Local {
    pub input_layernorm: Norm<2880>,
    pub q_proj: Linear<4096, 2880>,
    pub q_bias: Bias<4096>,
    pub k_proj: Linear<512, 2880>,
    pub k_bias: Bias<512>,
    pub v_proj: Linear<512, 2880>,
    pub v_bias: Bias<512>,
    pub sinks: Vector<64>,
    pub o_proj: Linear<2880, 4096>,
    pub o_bias: Bias<2880>,
    pub post_attention_layernorm: Norm<2880>,
    pub router: Linear<32, 2880>,
    pub router_bias: Bias<32>,
    pub experts: GatedExperts<32, 2880, 2880>,
}

impl Local {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&LOCAL_INPUT_LAYERNORM, layer)?,
            q_proj: from.linear(&LOCAL_Q_PROJ, layer)?,
            q_bias: from.bias(&LOCAL_Q_BIAS, layer)?,
            k_proj: from.linear(&LOCAL_K_PROJ, layer)?,
            k_bias: from.bias(&LOCAL_K_BIAS, layer)?,
            v_proj: from.linear(&LOCAL_V_PROJ, layer)?,
            v_bias: from.bias(&LOCAL_V_BIAS, layer)?,
            sinks: from.vector(&LOCAL_SINKS, layer)?,
            o_proj: from.linear(&LOCAL_O_PROJ, layer)?,
            o_bias: from.bias(&LOCAL_O_BIAS, layer)?,
            post_attention_layernorm: from.norm(&LOCAL_POST_ATTENTION_LAYERNORM, layer)?,
            router: from.linear(&LOCAL_ROUTER, layer)?,
            router_bias: from.bias(&LOCAL_ROUTER_BIAS, layer)?,
            experts: from.gated_experts(&LOCAL_EXPERTS, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_proj.bytes() + self.q_bias.bytes()
            + self.k_proj.bytes() + self.k_bias.bytes() + self.v_proj.bytes()
            + self.v_bias.bytes() + self.sinks.bytes() + self.o_proj.bytes()
            + self.o_bias.bytes() + self.post_attention_layernorm.bytes()
            + self.router.bytes() + self.router_bias.bytes() + self.experts.bytes()
    }
}

/// Weights of one layer of kind `full`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Full {
    pub input_layernorm: Norm<2880>,
    pub q_proj: Linear<4096, 2880>,
    pub q_bias: Bias<4096>,
    pub k_proj: Linear<512, 2880>,
    pub k_bias: Bias<512>,
    pub v_proj: Linear<512, 2880>,
    pub v_bias: Bias<512>,
    pub sinks: Vector<64>,
    pub o_proj: Linear<2880, 4096>,
    pub o_bias: Bias<2880>,
    pub post_attention_layernorm: Norm<2880>,
    pub router: Linear<32, 2880>,
    pub router_bias: Bias<32>,
    pub experts: GatedExperts<32, 2880, 2880>,
}

impl Full {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&FULL_INPUT_LAYERNORM, layer)?,
            q_proj: from.linear(&FULL_Q_PROJ, layer)?,
            q_bias: from.bias(&FULL_Q_BIAS, layer)?,
            k_proj: from.linear(&FULL_K_PROJ, layer)?,
            k_bias: from.bias(&FULL_K_BIAS, layer)?,
            v_proj: from.linear(&FULL_V_PROJ, layer)?,
            v_bias: from.bias(&FULL_V_BIAS, layer)?,
            sinks: from.vector(&FULL_SINKS, layer)?,
            o_proj: from.linear(&FULL_O_PROJ, layer)?,
            o_bias: from.bias(&FULL_O_BIAS, layer)?,
            post_attention_layernorm: from.norm(&FULL_POST_ATTENTION_LAYERNORM, layer)?,
            router: from.linear(&FULL_ROUTER, layer)?,
            router_bias: from.bias(&FULL_ROUTER_BIAS, layer)?,
            experts: from.gated_experts(&FULL_EXPERTS, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_proj.bytes() + self.q_bias.bytes()
            + self.k_proj.bytes() + self.k_bias.bytes() + self.v_proj.bytes()
            + self.v_bias.bytes() + self.sinks.bytes() + self.o_proj.bytes()
            + self.o_bias.bytes() + self.post_attention_layernorm.bytes()
            + self.router.bytes() + self.router_bias.bytes() + self.experts.bytes()
    }
}

/// All weights.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Weights {
    pub embed_tokens: Embedding<201088, 2880>,
    pub local: Box<[Local; 12]>,
    pub full: Box<[Full; 12]>,
    pub norm: Norm<2880>,
    pub lm_head: Linear<201088, 2880>,
}

impl Weights {
    /// Compares the checkpoint with the spec, everything at once, then loads it.
    pub fn load(checkpoint: &Arc<Checkpoint>, cpu: &Cpu) -> Result<Self, LoadError> {
        checkpoint.require(CheckpointKind::Hf)?;
        let from = Loader::new(checkpoint, cpu, &TENSORS, &CONFIG)?;
        Ok(Self {
            embed_tokens: from.embedding(&EMBED_TOKENS)?,
            local: from.layers(&LOCAL_LAYERS, Local::load)?,
            full: from.layers(&FULL_LAYERS, Full::load)?,
            norm: from.norm(&NORM, 0)?,
            lm_head: from.linear(&LM_HEAD, 0)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.embed_tokens.bytes() + self.norm.bytes() + self.lm_head.bytes()
            + self.local.iter().map(Local::bytes).sum::<usize>()
            + self.full.iter().map(Full::bytes).sum::<usize>()
    }
}
