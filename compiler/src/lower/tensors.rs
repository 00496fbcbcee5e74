//! The tensors that a checkpoint of a model holds.

use crate::architecture::{self, Architecture, Names, Naming, Role};
use crate::model::{CheckpointFormat, ExpertLayout, Ffn, GatedDeltaNet, Gqa, Mamba2, Mixer, Mla, Model, Moe, NormPlacement};
use crate::program::{ExpertDims, Rows, Segment, Tensor, TensorShape};

/// The norm before a mixer, by the name that its architecture gives it.
pub(super) fn mixer_norm(model: &Model) -> Role {
    if one_norm(model) { Role::LayerNorm } else { Role::InputLayernorm }
}

/// The norm before a feed-forward, by the name that its architecture gives it.
pub(super) fn ffn_norm(model: &Model, sandwich: bool) -> Role {
    match (one_norm(model), sandwich) {
        (true, _) => Role::LayerNorm,
        (false, true) => Role::PreFeedforwardLayernorm,
        (false, false) => Role::PostAttentionLayernorm,
    }
}

/// Whether a layer is a mixer or a feed-forward, and has one norm.
fn one_norm(model: &Model) -> bool {
    architecture_of(model).names == Names::Nemotron
}

/// What the names of a model's tensors depend on.
pub fn naming(model: &Model) -> Naming<'_> {
    let architecture = architecture_of(model);
    Naming {
        format: model.checkpoint.format,
        family: architecture.names,
        prefix: model.checkpoint.names.as_deref(),
        fused_delta_net: architecture.fused_delta_net,
    }
}

fn architecture_of(model: &Model) -> &'static Architecture {
    architecture::find(&model.checkpoint.model_type).expect("check refuses unknown architectures")
}

/// The first tensor that no checkpoint of the spec's format can have, as far as this version knows: `check` refuses such specs.
pub fn unnamed(model: &Model) -> Option<Role> {
    tensors(model).into_iter().find(|t| t.names.is_empty()).map(|t| t.role)
}

/// The tensors that a checkpoint of this model holds, in the order of the model.
pub fn tensors(model: &Model) -> Vec<Tensor> {
    let (hidden, vocab) = (model.hidden_size, model.vocab_size);
    let architecture = architecture_of(model);
    let gguf = model.checkpoint.format == CheckpointFormat::Gguf;
    let mut list = List {
        naming: naming(model),
        plus_one: model.rms_norm_unit_offset && !(gguf && architecture.gguf_adds_one),
        rope_pairs: gguf && architecture.gguf_permutes_rope,
        layout: architecture.expert_layout(model.checkpoint.format, model.checkpoint.experts),
        kind: None,
        tensors: Vec::new(),
    };
    list.add(Role::EmbedTokens, TensorShape::Embedding { vocab, dim: hidden });
    for (at, kind) in model.kinds.iter().enumerate() {
        list.kind = Some(at);
        let sandwich = kind.norm == NormPlacement::Sandwich;
        if let Some((_, mixer)) = &kind.mixer {
            list.add(mixer_norm(model), TensorShape::Norm { dim: hidden });
            match mixer {
                Mixer::Gqa(gqa) => list.gqa(gqa, hidden),
                Mixer::Mla(mla) => list.mla(mla, hidden),
                Mixer::Mamba2(mamba) => list.mamba2(mamba, hidden),
                Mixer::GatedDeltaNet(delta) => list.delta(delta, hidden),
            }
            if sandwich {
                list.add(Role::PostAttentionNorm, TensorShape::Norm { dim: hidden });
            }
        }
        if let Some((_, ffn)) = &kind.ffn {
            list.add(ffn_norm(model, sandwich), TensorShape::Norm { dim: hidden });
            match *ffn {
                Ffn::GatedMlp { intermediate_size: inner, bias, .. } => {
                    list.project(Role::GateProj, bias.then_some(Role::GateBias), inner, hidden);
                    list.project(Role::UpProj, bias.then_some(Role::UpBias), inner, hidden);
                    list.project(Role::DownProj, bias.then_some(Role::DownBias), hidden, inner);
                }
                Ffn::Mlp { intermediate_size: inner, bias, .. } => {
                    list.project(Role::UpProj, bias.then_some(Role::UpBias), inner, hidden);
                    list.project(Role::DownProj, bias.then_some(Role::DownBias), hidden, inner);
                }
                Ffn::Moe(ref moe) => list.moe(moe, hidden),
            }
            if sandwich {
                list.add(Role::PostFeedforwardLayernorm, TensorShape::Norm { dim: hidden });
            }
        }
    }
    list.kind = None;
    list.add(Role::Norm, TensorShape::Norm { dim: hidden });
    list.add(Role::LmHead, TensorShape::Linear { out: vocab, input: hidden });
    if model.tie_word_embeddings {
        let names = list.tensors[0].names.clone();
        let head = list.tensors.last_mut().expect("the head was added");
        (head.names, head.shared) = (names, true);
    }
    list.tensors
}

struct List<'m> {
    naming: Naming<'m>,
    /// Norm weights count from 1, and loading adds it.
    plus_one: bool,
    /// Rows of q and k are stored with rotary pairs as neighbours.
    rope_pairs: bool,
    layout: ExpertLayout,
    kind: Option<usize>,
    tensors: Vec<Tensor>,
}

impl List<'_> {
    fn add(&mut self, role: Role, shape: TensorShape) -> &mut Tensor {
        // The gated norms of recurrent mixers multiply by w in every architecture.
        let plus_one = self.plus_one && matches!(shape, TensorShape::Norm { .. }) && role != Role::GatedNorm;
        let names = role.name(&self.naming).into_iter().collect();
        self.tensors.push(Tensor { role, kind: self.kind, names, shape, rows: Rows::Stored, plus_one, shared: false });
        self.tensors.last_mut().expect("one was pushed")
    }

    fn project(&mut self, weight: Role, bias: Option<Role>, out: usize, input: usize) {
        self.project_rows(weight, bias, out, input, Rows::Stored);
    }

    fn project_rows(&mut self, weight: Role, bias: Option<Role>, out: usize, input: usize, rows: Rows) {
        self.add(weight, TensorShape::Linear { out, input }).rows = rows.clone();
        if let Some(bias) = bias {
            self.add(bias, TensorShape::Bias { dim: out }).rows = rows;
        }
    }

    fn gqa(&mut self, gqa: &Gqa, hidden: usize) {
        let (q, kv, head_dim) = (gqa.q_dim(), gqa.kv_dim(), gqa.head_dim);
        let bias = |role| gqa.bias.then_some(role);
        let rotated = |list: &Self, heads| match &gqa.rope {
            Some(rope) if list.rope_pairs => Rows::RopePairs { heads, rotary_dim: rope.rotary_dim },
            _ => Rows::Stored,
        };
        if gqa.output_gate {
            // Each head has its query's rows and then its gate's.
            let half = |first| Rows::Parts(vec![Segment { groups: gqa.heads, group_rows: 2 * head_dim, first, rows: head_dim }]);
            self.project_rows(Role::QProj, bias(Role::QBias), q, hidden, half(0));
            self.project_rows(Role::QGate, bias(Role::QGateBias), q, hidden, half(head_dim));
        } else {
            let rows = rotated(self, gqa.heads);
            self.project_rows(Role::QProj, bias(Role::QBias), q, hidden, rows);
        }
        let rows = rotated(self, gqa.kv_heads);
        self.project_rows(Role::KProj, bias(Role::KBias), kv, hidden, rows);
        self.project(Role::VProj, bias(Role::VBias), kv, hidden);
        if gqa.qk_norm {
            self.add(Role::QNorm, TensorShape::Norm { dim: head_dim });
            self.add(Role::KNorm, TensorShape::Norm { dim: head_dim });
        }
        if gqa.sinks {
            self.add(Role::Sinks, TensorShape::Vector { dim: gqa.heads });
        }
        self.project(Role::OProj, gqa.output_bias.then_some(Role::OBias), hidden, q);
    }

    fn mla(&mut self, mla: &Mla, hidden: usize) {
        let bias = |role| mla.bias.then_some(role);
        match mla.q_lora_rank {
            None => self.project(Role::QProj, None, mla.q_dim(), hidden),
            Some(rank) => {
                self.project(Role::QAProj, bias(Role::QABias), rank, hidden);
                self.add(Role::QALayernorm, TensorShape::Norm { dim: rank });
                self.project(Role::QBProj, None, mla.q_dim(), rank);
            }
        }
        self.project(Role::KvAProj, bias(Role::KvABias), mla.latent_dim(), hidden);
        self.add(Role::KvALayernorm, TensorShape::Norm { dim: mla.kv_lora_rank });
        let (heads, nope, v, rank) = (mla.heads, mla.nope, mla.v_head_dim, mla.kv_lora_rank);
        self.add(Role::KvBProj, TensorShape::LatentUp { heads, nope, v, rank });
        self.project(Role::OProj, bias(Role::OBias), hidden, mla.o_dim());
    }

    fn mamba2(&mut self, mamba: &Mamba2, hidden: usize) {
        let (inner, conv_dim, heads) = (mamba.inner(), mamba.conv_dim(), mamba.heads);
        let stored = inner + conv_dim + heads;
        let part = |first, rows| Rows::Parts(vec![Segment { groups: 1, group_rows: stored, first, rows }]);
        for (weight, bias, first, rows) in [
            (Role::InProjZ, Role::InBiasZ, 0, inner),
            (Role::InProjXbc, Role::InBiasXbc, inner, conv_dim),
            (Role::InProjDt, Role::InBiasDt, inner + conv_dim, heads),
        ] {
            self.project_rows(weight, mamba.bias.then_some(bias), rows, hidden, part(first, rows));
        }
        self.add(Role::Conv1d, TensorShape::Conv { dim: conv_dim, kernel: mamba.conv_kernel });
        if mamba.conv_bias {
            self.add(Role::Conv1dBias, TensorShape::Bias { dim: conv_dim });
        }
        self.add(Role::ALog, TensorShape::Decay { dim: heads });
        self.add(Role::D, TensorShape::Vector { dim: heads });
        self.add(Role::DtBias, TensorShape::Vector { dim: heads });
        self.add(Role::GatedNorm, TensorShape::Norm { dim: inner });
        self.project(Role::OutProj, mamba.bias.then_some(Role::OutBias), hidden, inner);
    }

    fn delta(&mut self, delta: &GatedDeltaNet, hidden: usize) {
        let GatedDeltaNet { key_heads, key_dim, value_heads, value_dim, conv_kernel } = *delta;
        let shared = value_heads / key_heads;
        // Where two projections are one tensor, each key head has the rows of its query, its key, and its values and gates.
        let (qkvz, ba) = (2 * key_dim + 2 * shared * value_dim, 2 * shared);
        let fused = self.naming.fused_delta_net;
        let part = |group_rows, parts: &[(usize, usize)]| match fused {
            true => {
                Rows::Parts(parts.iter().map(|&(first, rows)| Segment { groups: key_heads, group_rows, first, rows }).collect())
            }
            false => Rows::Stored,
        };
        let values = shared * value_dim;
        for (role, out, rows) in [
            (Role::DeltaQkv, delta.conv_dim(), part(qkvz, &[(0, key_dim), (key_dim, key_dim), (2 * key_dim, values)])),
            (Role::DeltaZ, delta.values(), part(qkvz, &[(2 * key_dim + values, values)])),
            (Role::DeltaB, value_heads, part(ba, &[(0, shared)])),
            (Role::DeltaA, value_heads, part(ba, &[(shared, shared)])),
        ] {
            self.project_rows(role, None, out, hidden, rows);
        }
        self.add(Role::Conv1d, TensorShape::Conv { dim: delta.conv_dim(), kernel: conv_kernel });
        self.add(Role::ALog, TensorShape::Decay { dim: value_heads });
        self.add(Role::DtBias, TensorShape::Vector { dim: value_heads });
        self.add(Role::GatedNorm, TensorShape::Norm { dim: value_dim });
        self.project(Role::OutProj, None, hidden, delta.values());
    }

    fn moe(&mut self, moe: &Moe, hidden: usize) {
        self.project(Role::Router, moe.router.bias.then_some(Role::RouterBias), moe.experts, hidden);
        if moe.router.correction_bias {
            self.add(Role::CorrectionBias, TensorShape::Vector { dim: moe.experts });
        }
        if let Some(latent) = moe.latent {
            self.project(Role::LatentIn, None, latent, hidden);
            self.project(Role::LatentOut, None, hidden, latent);
        }
        let dims = ExpertDims {
            experts: moe.experts,
            hidden: moe.latent.unwrap_or(hidden),
            inner: moe.intermediate_size,
            layout: self.layout,
            bias: moe.expert_bias,
        };
        let shape = if moe.gated { TensorShape::GatedExperts(dims) } else { TensorShape::PlainExperts(dims) };
        let names = self.naming.experts(self.layout, moe.gated, moe.expert_bias).unwrap_or_default();
        self.add(Role::Experts, shape).names = names;
        if let Some(shared) = moe.shared {
            let inner = shared.intermediate_size;
            if moe.gated {
                self.project(Role::SharedGateProj, None, inner, hidden);
            }
            self.project(Role::SharedUpProj, None, inner, hidden);
            self.project(Role::SharedDownProj, None, hidden, inner);
            if shared.gate {
                self.project(Role::SharedExpertGate, None, 1, hidden);
            }
        }
    }
}
