//! Names of tensors: what each is for, and how the checkpoints of an architecture call it.

use crate::model::{CheckpointFormat, ExpertLayout};

/// The family of names that checkpoints in Hugging Face's format use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// `model.layers.{layer}.self_attn.*` and `.mlp.*`; shared experts are `shared_experts`.
    Llama,
    /// The same; the shared expert is `shared_expert`, and a delta net `linear_attn`.
    Qwen,
    /// The same; the router is `router`.
    GptOss,
    /// `backbone.layers.{layer}.mixer.*`, one norm per layer.
    Nemotron,
}

/// All that a tensor's name depends on beside its role.
#[derive(Clone, Copy, Debug)]
pub struct Naming<'a> {
    /// The checkpoint's format.
    pub format: CheckpointFormat,
    /// The family, for Hugging Face's.
    pub family: Names,
    /// `[weights] names`: the prefix of a layer's tensors where it is not the family's.
    pub prefix: Option<&'a str>,
    /// The projections of a delta net are two tensors.
    pub fused_delta_net: bool,
}

/// What a tensor is for. Its name in a checkpoint follows from [`Naming`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of Hugging Face transformers")]
pub enum Role {
    EmbedTokens,
    InputLayernorm,
    /// The one norm of a layer that is a mixer or a feed-forward alone.
    LayerNorm,
    QProj,
    KProj,
    VProj,
    OProj,
    QBias,
    KBias,
    VBias,
    OBias,
    QNorm,
    KNorm,
    /// The rows of q_proj that make the gate of the attention's output.
    QGate,
    QGateBias,
    Sinks,
    QAProj,
    QABias,
    QALayernorm,
    QBProj,
    KvAProj,
    KvABias,
    KvALayernorm,
    KvBProj,
    /// The rows of Mamba2's in_proj that make the gate, the convolution's input and the time step.
    InProjZ,
    InProjXbc,
    InProjDt,
    InBiasZ,
    InBiasXbc,
    InBiasDt,
    /// The projections of a delta net.
    DeltaQkv,
    DeltaZ,
    DeltaB,
    DeltaA,
    Conv1d,
    Conv1dBias,
    ALog,
    D,
    DtBias,
    GatedNorm,
    OutProj,
    OutBias,
    PostAttentionLayernorm,
    PostAttentionNorm,
    PreFeedforwardLayernorm,
    PostFeedforwardLayernorm,
    GateProj,
    UpProj,
    DownProj,
    GateBias,
    UpBias,
    DownBias,
    Router,
    RouterBias,
    CorrectionBias,
    Experts,
    SharedGateProj,
    SharedUpProj,
    SharedDownProj,
    SharedExpertGate,
    LatentIn,
    LatentOut,
    Norm,
    LmHead,
}

impl Role {
    /// The field that holds the tensor in generated code.
    pub const fn field(self) -> &'static str {
        match self {
            Self::EmbedTokens => "embed_tokens",
            Self::InputLayernorm => "input_layernorm",
            Self::LayerNorm => "norm",
            Self::QProj => "q_proj",
            Self::KProj => "k_proj",
            Self::VProj => "v_proj",
            Self::OProj => "o_proj",
            Self::QBias => "q_bias",
            Self::KBias => "k_bias",
            Self::VBias => "v_bias",
            Self::OBias => "o_bias",
            Self::QNorm => "q_norm",
            Self::KNorm => "k_norm",
            Self::QGate => "q_gate",
            Self::QGateBias => "q_gate_bias",
            Self::Sinks => "sinks",
            Self::QAProj => "q_a_proj",
            Self::QABias => "q_a_bias",
            Self::QALayernorm => "q_a_layernorm",
            Self::QBProj => "q_b_proj",
            Self::KvAProj => "kv_a_proj",
            Self::KvABias => "kv_a_bias",
            Self::KvALayernorm => "kv_a_layernorm",
            Self::KvBProj => "kv_b_proj",
            Self::InProjZ | Self::DeltaZ => "in_proj_z",
            Self::InProjXbc => "in_proj_xbc",
            Self::InProjDt => "in_proj_dt",
            Self::InBiasZ => "in_bias_z",
            Self::InBiasXbc => "in_bias_xbc",
            Self::InBiasDt => "in_bias_dt",
            Self::DeltaQkv => "in_proj_qkv",
            Self::DeltaB => "in_proj_b",
            Self::DeltaA => "in_proj_a",
            Self::Conv1d => "conv1d",
            Self::Conv1dBias => "conv1d_bias",
            Self::ALog => "a_log",
            Self::D => "d",
            Self::DtBias => "dt_bias",
            Self::GatedNorm => "gated_norm",
            Self::OutProj => "out_proj",
            Self::OutBias => "out_bias",
            Self::PostAttentionLayernorm | Self::PostAttentionNorm => "post_attention_layernorm",
            Self::PreFeedforwardLayernorm => "pre_feedforward_layernorm",
            Self::PostFeedforwardLayernorm => "post_feedforward_layernorm",
            Self::GateProj => "gate_proj",
            Self::UpProj => "up_proj",
            Self::DownProj => "down_proj",
            Self::GateBias => "gate_bias",
            Self::UpBias => "up_bias",
            Self::DownBias => "down_bias",
            Self::Router => "router",
            Self::RouterBias => "router_bias",
            Self::CorrectionBias => "e_score_correction_bias",
            Self::Experts => "experts",
            Self::SharedGateProj => "shared_gate_proj",
            Self::SharedUpProj => "shared_up_proj",
            Self::SharedDownProj => "shared_down_proj",
            Self::SharedExpertGate => "shared_expert_gate",
            Self::LatentIn => "fc1_latent_proj",
            Self::LatentOut => "fc2_latent_proj",
            Self::Norm => "norm",
            Self::LmHead => "lm_head",
        }
    }

    /// The tensor's name in a checkpoint; `{layer}` stands for the layer's index. `None` where checkpoints of this format have no
    /// such tensor, as far as this version knows. Experts have names of their own, see [`Naming::experts`].
    pub fn name(self, naming: &Naming<'_>) -> Option<String> {
        match naming.format {
            CheckpointFormat::Hf => self.hf(naming),
            CheckpointFormat::Gguf => self.gguf().map(str::to_owned),
            CheckpointFormat::Mistral => self.mistral().map(str::to_owned),
        }
    }

    fn hf(self, naming: &Naming<'_>) -> Option<String> {
        let nemotron = naming.family == Names::Nemotron;
        let layer = naming.prefix.unwrap_or(if nemotron { "backbone.layers.{layer}" } else { "model.layers.{layer}" });
        let root = layer.strip_suffix("layers.{layer}").unwrap_or_default();
        let (mixer, ffn) = if nemotron { ("mixer", "mixer") } else { ("self_attn", "mlp") };
        let delta = if nemotron { "mixer" } else { "linear_attn" };
        let shared = if naming.family == Names::Qwen { "shared_expert" } else { "shared_experts" };
        let router = if naming.family == Names::GptOss { "router" } else { "gate" };
        let in_layer = |name: &str| format!("{layer}.{name}");
        let of_mixer = |name: &str| format!("{layer}.{mixer}.{name}");
        let of_delta = |name: &str| format!("{layer}.{delta}.{name}");
        let of_ffn = |name: &str| format!("{layer}.{ffn}.{name}");
        Some(match self {
            Self::EmbedTokens if nemotron => format!("{root}embeddings.weight"),
            Self::EmbedTokens => format!("{root}embed_tokens.weight"),
            Self::Norm if nemotron => format!("{root}norm_f.weight"),
            Self::Norm => format!("{root}norm.weight"),
            // It stands beside the model, wherever that is: `language_model.model.layers` has `language_model.lm_head`, and
            // `model.language_model.layers` has `lm_head`.
            Self::LmHead => {
                let outer = layer.strip_suffix(".model.layers.{layer}");
                outer.map_or_else(|| "lm_head.weight".to_owned(), |outer| format!("{outer}.lm_head.weight"))
            }
            Self::LayerNorm => in_layer("norm.weight"),
            Self::InputLayernorm => in_layer("input_layernorm.weight"),
            Self::PostAttentionLayernorm | Self::PostAttentionNorm => in_layer("post_attention_layernorm.weight"),
            Self::PreFeedforwardLayernorm => in_layer("pre_feedforward_layernorm.weight"),
            Self::PostFeedforwardLayernorm => in_layer("post_feedforward_layernorm.weight"),
            Self::QProj | Self::QGate => of_mixer("q_proj.weight"),
            Self::KProj => of_mixer("k_proj.weight"),
            Self::VProj => of_mixer("v_proj.weight"),
            Self::OProj => of_mixer("o_proj.weight"),
            Self::QBias | Self::QGateBias => of_mixer("q_proj.bias"),
            Self::KBias => of_mixer("k_proj.bias"),
            Self::VBias => of_mixer("v_proj.bias"),
            Self::OBias => of_mixer("o_proj.bias"),
            Self::QNorm => of_mixer("q_norm.weight"),
            Self::KNorm => of_mixer("k_norm.weight"),
            Self::Sinks => of_mixer("sinks"),
            Self::QAProj => of_mixer("q_a_proj.weight"),
            Self::QABias => of_mixer("q_a_proj.bias"),
            Self::QALayernorm => of_mixer("q_a_layernorm.weight"),
            Self::QBProj => of_mixer("q_b_proj.weight"),
            Self::KvAProj => of_mixer("kv_a_proj_with_mqa.weight"),
            Self::KvABias => of_mixer("kv_a_proj_with_mqa.bias"),
            Self::KvALayernorm => of_mixer("kv_a_layernorm.weight"),
            Self::KvBProj => of_mixer("kv_b_proj.weight"),
            Self::InProjZ | Self::InProjXbc | Self::InProjDt => of_delta("in_proj.weight"),
            Self::InBiasZ | Self::InBiasXbc | Self::InBiasDt => of_delta("in_proj.bias"),
            Self::DeltaQkv | Self::DeltaZ if naming.fused_delta_net => of_delta("in_proj_qkvz.weight"),
            Self::DeltaB | Self::DeltaA if naming.fused_delta_net => of_delta("in_proj_ba.weight"),
            Self::DeltaQkv => of_delta("in_proj_qkv.weight"),
            Self::DeltaZ => of_delta("in_proj_z.weight"),
            Self::DeltaB => of_delta("in_proj_b.weight"),
            Self::DeltaA => of_delta("in_proj_a.weight"),
            Self::Conv1d => of_delta("conv1d.weight"),
            Self::Conv1dBias => of_delta("conv1d.bias"),
            Self::ALog => of_delta("A_log"),
            Self::D => of_delta("D"),
            Self::DtBias => of_delta("dt_bias"),
            Self::GatedNorm => of_delta("norm.weight"),
            Self::OutProj => of_delta("out_proj.weight"),
            Self::OutBias => of_delta("out_proj.bias"),
            Self::GateProj => of_ffn("gate_proj.weight"),
            Self::UpProj => of_ffn("up_proj.weight"),
            Self::DownProj => of_ffn("down_proj.weight"),
            Self::GateBias => of_ffn("gate_proj.bias"),
            Self::UpBias => of_ffn("up_proj.bias"),
            Self::DownBias => of_ffn("down_proj.bias"),
            Self::Router => of_ffn(&format!("{router}.weight")),
            Self::RouterBias => of_ffn(&format!("{router}.bias")),
            Self::CorrectionBias => of_ffn("gate.e_score_correction_bias"),
            Self::SharedGateProj => of_ffn(&format!("{shared}.gate_proj.weight")),
            Self::SharedUpProj => of_ffn(&format!("{shared}.up_proj.weight")),
            Self::SharedDownProj => of_ffn(&format!("{shared}.down_proj.weight")),
            Self::SharedExpertGate => of_ffn("shared_expert_gate.weight"),
            Self::LatentIn => of_ffn("fc1_latent_proj.weight"),
            Self::LatentOut => of_ffn("fc2_latent_proj.weight"),
            Self::Experts => return None,
        })
    }

    const fn gguf(self) -> Option<&'static str> {
        Some(match self {
            Self::EmbedTokens => "token_embd.weight",
            Self::InputLayernorm => "blk.{layer}.attn_norm.weight",
            Self::QProj => "blk.{layer}.attn_q.weight",
            Self::KProj => "blk.{layer}.attn_k.weight",
            Self::VProj => "blk.{layer}.attn_v.weight",
            Self::OProj => "blk.{layer}.attn_output.weight",
            Self::QBias => "blk.{layer}.attn_q.bias",
            Self::KBias => "blk.{layer}.attn_k.bias",
            Self::VBias => "blk.{layer}.attn_v.bias",
            Self::OBias => "blk.{layer}.attn_output.bias",
            Self::QNorm => "blk.{layer}.attn_q_norm.weight",
            Self::KNorm => "blk.{layer}.attn_k_norm.weight",
            Self::PostAttentionLayernorm | Self::PreFeedforwardLayernorm => "blk.{layer}.ffn_norm.weight",
            Self::PostAttentionNorm => "blk.{layer}.post_attention_norm.weight",
            Self::PostFeedforwardLayernorm => "blk.{layer}.post_ffw_norm.weight",
            Self::GateProj => "blk.{layer}.ffn_gate.weight",
            Self::UpProj => "blk.{layer}.ffn_up.weight",
            Self::DownProj => "blk.{layer}.ffn_down.weight",
            Self::GateBias => "blk.{layer}.ffn_gate.bias",
            Self::UpBias => "blk.{layer}.ffn_up.bias",
            Self::DownBias => "blk.{layer}.ffn_down.bias",
            Self::Norm => "output_norm.weight",
            Self::LmHead => "output.weight",
            _ => return None,
        })
    }

    /// The names of Mistral's own format.
    const fn mistral(self) -> Option<&'static str> {
        Some(match self {
            Self::EmbedTokens => "tok_embeddings.weight",
            Self::InputLayernorm => "layers.{layer}.attention_norm.weight",
            Self::QProj => "layers.{layer}.attention.wq.weight",
            Self::KProj => "layers.{layer}.attention.wk.weight",
            Self::VProj => "layers.{layer}.attention.wv.weight",
            Self::OProj => "layers.{layer}.attention.wo.weight",
            Self::QAProj => "layers.{layer}.attention.wq_a.weight",
            Self::QALayernorm => "layers.{layer}.attention.q_a_norm.weight",
            Self::QBProj => "layers.{layer}.attention.wq_b.weight",
            Self::KvAProj => "layers.{layer}.attention.wkv_a_with_mqa.weight",
            Self::KvALayernorm => "layers.{layer}.attention.kv_a_norm.weight",
            Self::KvBProj => "layers.{layer}.attention.wkv_b.weight",
            Self::PostAttentionLayernorm => "layers.{layer}.ffn_norm.weight",
            Self::GateProj => "layers.{layer}.feed_forward.w1.weight",
            Self::DownProj => "layers.{layer}.feed_forward.w2.weight",
            Self::UpProj => "layers.{layer}.feed_forward.w3.weight",
            Self::Router => "layers.{layer}.gate.weight",
            Self::SharedGateProj => "layers.{layer}.shared_experts.w1.weight",
            Self::SharedDownProj => "layers.{layer}.shared_experts.w2.weight",
            Self::SharedUpProj => "layers.{layer}.shared_experts.w3.weight",
            Self::Norm => "norm.weight",
            Self::LmHead => "output.weight",
            _ => return None,
        })
    }
}

impl Naming<'_> {
    /// The names of the tensors of all experts of a layer: gate, up and down, or up and down; of stacked ones gate_up and down; with
    /// biases after each. `None` where checkpoints of this format have no such tensors.
    pub fn experts(&self, layout: ExpertLayout, gated: bool, bias: bool) -> Option<Vec<String>> {
        let names = |base: String, parts: &[&str]| parts.iter().map(|part| format!("{base}.{part}")).collect();
        match (self.format, layout) {
            (CheckpointFormat::Gguf, _) => None,
            (CheckpointFormat::Mistral, ExpertLayout::Each) => {
                gated.then(|| names("layers.{layer}.experts.{expert}".to_owned(), &["w1.weight", "w3.weight", "w2.weight"]))
            }
            (CheckpointFormat::Mistral, _) => None,
            (CheckpointFormat::Hf, layout) => {
                let nemotron = self.family == Names::Nemotron;
                let layer = self.prefix.unwrap_or(if nemotron { "backbone.layers.{layer}" } else { "model.layers.{layer}" });
                let base = format!("{layer}.{}.experts", if nemotron { "mixer" } else { "mlp" });
                match layout {
                    ExpertLayout::Each if bias => None,
                    ExpertLayout::Each => {
                        let parts = ["gate_proj.weight", "up_proj.weight", "down_proj.weight"];
                        Some(names(format!("{base}.{{expert}}"), if gated { &parts } else { &parts[1..] }))
                    }
                    ExpertLayout::Stacked if bias => None,
                    ExpertLayout::Stacked => {
                        Some(names(base, if gated { &["gate_up_proj", "down_proj"] } else { &["up_proj", "down_proj"] }))
                    }
                    ExpertLayout::Transposed if gated && bias => {
                        Some(names(base, &["gate_up_proj", "gate_up_proj_bias", "down_proj", "down_proj_bias"]))
                    }
                    ExpertLayout::Transposed => None,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_stands_beside_the_model_and_not_in_the_middle_of_a_name() {
        let head =
            |family, prefix| Role::LmHead.name(&Naming { format: CheckpointFormat::Hf, family, prefix, fused_delta_net: false });
        for (prefix, name) in [
            (None, "lm_head.weight"),
            (Some("model.language_model.layers.{layer}"), "lm_head.weight"),
            (Some("language_model.model.layers.{layer}"), "language_model.lm_head.weight"),
        ] {
            assert_eq!(head(Names::Qwen, prefix).as_deref(), Some(name));
        }
        assert_eq!(head(Names::Nemotron, None).as_deref(), Some("lm_head.weight"));
    }
}
