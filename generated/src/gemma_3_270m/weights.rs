//! gemma-3-270m: the tensors of its checkpoint, and the weights as they are kept.
//! Generated from model-specs/gemma-3-270m; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::linear::{Embedding, Linear, Norm};
use tenon_core::weights::{
    Checkpoint, CheckpointKind, EmbeddingSpec, LinearSpec, LoadError, Loader, NormSpec,
    StorageFormat, TensorCheck,
};

use super::CONFIG;

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

/// Layers that are `local`.
pub const LOCAL_LAYERS: [usize; 15] = [
    0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16,
];
/// Layers that are `full`.
pub const FULL_LAYERS: [usize; 3] = [5, 11, 17];

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `local`
    Local,
    /// `full`
    Full,
}
/// For each layer, what it is and its index among its kind.
pub const PATTERN: [(Kind, usize); 18] = [
    (Kind::Local, 0),
    (Kind::Local, 1),
    (Kind::Local, 2),
    (Kind::Local, 3),
    (Kind::Local, 4),
    (Kind::Full, 0),
    (Kind::Local, 5),
    (Kind::Local, 6),
    (Kind::Local, 7),
    (Kind::Local, 8),
    (Kind::Local, 9),
    (Kind::Full, 1),
    (Kind::Local, 10),
    (Kind::Local, 11),
    (Kind::Local, 12),
    (Kind::Local, 13),
    (Kind::Local, 14),
    (Kind::Full, 2),
];

const EMBED_TOKENS: EmbeddingSpec<262144, 640> = EmbeddingSpec::new("token_embd.weight", ACCEPT);
const LOCAL_INPUT_LAYERNORM: NormSpec<640> = NormSpec::new("blk.{layer}.attn_norm.weight", ACCEPT);
const LOCAL_Q_PROJ: LinearSpec<1024, 640> = LinearSpec::new("blk.{layer}.attn_q.weight", ACCEPT);
const LOCAL_K_PROJ: LinearSpec<256, 640> = LinearSpec::new("blk.{layer}.attn_k.weight", ACCEPT);
const LOCAL_V_PROJ: LinearSpec<256, 640> = LinearSpec::new("blk.{layer}.attn_v.weight", ACCEPT);
const LOCAL_Q_NORM: NormSpec<256> = NormSpec::new("blk.{layer}.attn_q_norm.weight", ACCEPT);
const LOCAL_K_NORM: NormSpec<256> = NormSpec::new("blk.{layer}.attn_k_norm.weight", ACCEPT);
const LOCAL_O_PROJ: LinearSpec<640, 1024> = LinearSpec::new("blk.{layer}.attn_output.weight", ACCEPT);
const LOCAL_POST_ATTENTION_LAYERNORM: NormSpec<640> = NormSpec::new("blk.{layer}.post_attention_norm.weight", ACCEPT);
const LOCAL_PRE_FEEDFORWARD_LAYERNORM: NormSpec<640> = NormSpec::new("blk.{layer}.ffn_norm.weight", ACCEPT);
const LOCAL_GATE_PROJ: LinearSpec<2048, 640> = LinearSpec::new("blk.{layer}.ffn_gate.weight", ACCEPT);
const LOCAL_UP_PROJ: LinearSpec<2048, 640> = LinearSpec::new("blk.{layer}.ffn_up.weight", ACCEPT);
const LOCAL_DOWN_PROJ: LinearSpec<640, 2048> = LinearSpec::new("blk.{layer}.ffn_down.weight", ACCEPT);
const LOCAL_POST_FEEDFORWARD_LAYERNORM: NormSpec<640> = NormSpec::new("blk.{layer}.post_ffw_norm.weight", ACCEPT);
const FULL_INPUT_LAYERNORM: NormSpec<640> = NormSpec::new("blk.{layer}.attn_norm.weight", ACCEPT);
const FULL_Q_PROJ: LinearSpec<1024, 640> = LinearSpec::new("blk.{layer}.attn_q.weight", ACCEPT);
const FULL_K_PROJ: LinearSpec<256, 640> = LinearSpec::new("blk.{layer}.attn_k.weight", ACCEPT);
const FULL_V_PROJ: LinearSpec<256, 640> = LinearSpec::new("blk.{layer}.attn_v.weight", ACCEPT);
const FULL_Q_NORM: NormSpec<256> = NormSpec::new("blk.{layer}.attn_q_norm.weight", ACCEPT);
const FULL_K_NORM: NormSpec<256> = NormSpec::new("blk.{layer}.attn_k_norm.weight", ACCEPT);
const FULL_O_PROJ: LinearSpec<640, 1024> = LinearSpec::new("blk.{layer}.attn_output.weight", ACCEPT);
const FULL_POST_ATTENTION_LAYERNORM: NormSpec<640> = NormSpec::new("blk.{layer}.post_attention_norm.weight", ACCEPT);
const FULL_PRE_FEEDFORWARD_LAYERNORM: NormSpec<640> = NormSpec::new("blk.{layer}.ffn_norm.weight", ACCEPT);
const FULL_GATE_PROJ: LinearSpec<2048, 640> = LinearSpec::new("blk.{layer}.ffn_gate.weight", ACCEPT);
const FULL_UP_PROJ: LinearSpec<2048, 640> = LinearSpec::new("blk.{layer}.ffn_up.weight", ACCEPT);
const FULL_DOWN_PROJ: LinearSpec<640, 2048> = LinearSpec::new("blk.{layer}.ffn_down.weight", ACCEPT);
const FULL_POST_FEEDFORWARD_LAYERNORM: NormSpec<640> = NormSpec::new("blk.{layer}.post_ffw_norm.weight", ACCEPT);
const NORM: NormSpec<640> = NormSpec::new("output_norm.weight", ACCEPT);
const LM_HEAD: LinearSpec<262144, 640> = LinearSpec::new("token_embd.weight", ACCEPT);

/// Every tensor that the checkpoint must hold.
pub const TENSORS: [TensorCheck; 28] = [
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
];

/// Weights of one layer of kind `local`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Local {
    pub input_layernorm: Norm<640>,
    pub q_proj: Linear<1024, 640>,
    pub k_proj: Linear<256, 640>,
    pub v_proj: Linear<256, 640>,
    pub q_norm: Norm<256>,
    pub k_norm: Norm<256>,
    pub o_proj: Linear<640, 1024>,
    pub post_attention_layernorm: Norm<640>,
    pub pre_feedforward_layernorm: Norm<640>,
    pub gate_proj: Linear<2048, 640>,
    pub up_proj: Linear<2048, 640>,
    pub down_proj: Linear<640, 2048>,
    pub post_feedforward_layernorm: Norm<640>,
}

impl Local {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&LOCAL_INPUT_LAYERNORM, layer)?,
            q_proj: from.linear(&LOCAL_Q_PROJ, layer)?,
            k_proj: from.linear(&LOCAL_K_PROJ, layer)?,
            v_proj: from.linear(&LOCAL_V_PROJ, layer)?,
            q_norm: from.norm(&LOCAL_Q_NORM, layer)?,
            k_norm: from.norm(&LOCAL_K_NORM, layer)?,
            o_proj: from.linear(&LOCAL_O_PROJ, layer)?,
            post_attention_layernorm: from.norm(&LOCAL_POST_ATTENTION_LAYERNORM, layer)?,
            pre_feedforward_layernorm: from
                .norm(&LOCAL_PRE_FEEDFORWARD_LAYERNORM, layer)?,
            gate_proj: from.linear(&LOCAL_GATE_PROJ, layer)?,
            up_proj: from.linear(&LOCAL_UP_PROJ, layer)?,
            down_proj: from.linear(&LOCAL_DOWN_PROJ, layer)?,
            post_feedforward_layernorm: from
                .norm(&LOCAL_POST_FEEDFORWARD_LAYERNORM, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_proj.bytes() + self.k_proj.bytes()
            + self.v_proj.bytes() + self.q_norm.bytes() + self.k_norm.bytes()
            + self.o_proj.bytes() + self.post_attention_layernorm.bytes()
            + self.pre_feedforward_layernorm.bytes() + self.gate_proj.bytes()
            + self.up_proj.bytes() + self.down_proj.bytes()
            + self.post_feedforward_layernorm.bytes()
    }
}

/// Weights of one layer of kind `full`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Full {
    pub input_layernorm: Norm<640>,
    pub q_proj: Linear<1024, 640>,
    pub k_proj: Linear<256, 640>,
    pub v_proj: Linear<256, 640>,
    pub q_norm: Norm<256>,
    pub k_norm: Norm<256>,
    pub o_proj: Linear<640, 1024>,
    pub post_attention_layernorm: Norm<640>,
    pub pre_feedforward_layernorm: Norm<640>,
    pub gate_proj: Linear<2048, 640>,
    pub up_proj: Linear<2048, 640>,
    pub down_proj: Linear<640, 2048>,
    pub post_feedforward_layernorm: Norm<640>,
}

impl Full {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&FULL_INPUT_LAYERNORM, layer)?,
            q_proj: from.linear(&FULL_Q_PROJ, layer)?,
            k_proj: from.linear(&FULL_K_PROJ, layer)?,
            v_proj: from.linear(&FULL_V_PROJ, layer)?,
            q_norm: from.norm(&FULL_Q_NORM, layer)?,
            k_norm: from.norm(&FULL_K_NORM, layer)?,
            o_proj: from.linear(&FULL_O_PROJ, layer)?,
            post_attention_layernorm: from.norm(&FULL_POST_ATTENTION_LAYERNORM, layer)?,
            pre_feedforward_layernorm: from
                .norm(&FULL_PRE_FEEDFORWARD_LAYERNORM, layer)?,
            gate_proj: from.linear(&FULL_GATE_PROJ, layer)?,
            up_proj: from.linear(&FULL_UP_PROJ, layer)?,
            down_proj: from.linear(&FULL_DOWN_PROJ, layer)?,
            post_feedforward_layernorm: from
                .norm(&FULL_POST_FEEDFORWARD_LAYERNORM, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_proj.bytes() + self.k_proj.bytes()
            + self.v_proj.bytes() + self.q_norm.bytes() + self.k_norm.bytes()
            + self.o_proj.bytes() + self.post_attention_layernorm.bytes()
            + self.pre_feedforward_layernorm.bytes() + self.gate_proj.bytes()
            + self.up_proj.bytes() + self.down_proj.bytes()
            + self.post_feedforward_layernorm.bytes()
    }
}

/// All weights.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Weights {
    pub embed_tokens: Embedding<262144, 640>,
    pub local: Box<[Local; 15]>,
    pub full: Box<[Full; 3]>,
    pub norm: Norm<640>,
    pub lm_head: Linear<262144, 640>,
}

impl Weights {
    /// Compares the checkpoint with the spec, everything at once, then loads it.
    pub fn load(checkpoint: &Arc<Checkpoint>, cpu: &Cpu) -> Result<Self, LoadError> {
        checkpoint.require(CheckpointKind::Gguf)?;
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
