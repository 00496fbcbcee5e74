//! Conventions of grouped-query attention.

use super::Conventions;
use crate::architecture::{Bias, SoftCaps};
use crate::diagnostic::{Diagnostic, Id};
use crate::spec::{GqaSpec, RopeScalingSpec};

impl Conventions<'_> {
    pub(super) fn gqa(&self, gqa: &GqaSpec) -> Vec<Diagnostic> {
        let architecture = self.architecture;
        let mut found = Vec::new();
        found.extend(self.softmax_scale(gqa));
        found.extend(self.window(gqa));
        found.extend(self.rotation(gqa));
        found.extend(self.fixed("qk_norm", &gqa.qk_norm, architecture.qk_norm));
        found.extend(self.biases(gqa));
        let stated = [
            ("attention_sinks", &gqa.attention_sinks, architecture.attention_sinks),
            ("attn_output_gate", &gqa.attn_output_gate, architecture.attn_output_gate),
        ];
        for (key, stated, fixed) in stated {
            found.extend(match (stated, fixed) {
                (Some(stated), _) => self.fixed(key, stated, fixed),
                (None, true) => Some(self.unsaid(gqa, key)),
                (None, false) => None,
            });
        }
        if let Some(cap) = gqa.attn_logit_softcapping.as_ref().filter(|_| architecture.soft_caps != SoftCaps::LogitsAndScores) {
            found.push(self.not_there("attn_logit_softcapping", &cap.key));
        }
        found
    }

    /// A key that may be left out where it is false, and is true here.
    fn unsaid(&self, gqa: &GqaSpec, key: &str) -> Diagnostic {
        let message = format!("`{key}` is true in every `{}` checkpoint", self.model_type());
        self.mismatch(message, &gqa.qk_norm.key, "this table does not say so")
            .context(&self.spec.checkpoint.model_type.span, "the architecture fixes it")
            .help(format!("add `{key} = true`"))
    }

    /// The scale is that of the architecture. Where it is over a number of the config that the spec leaves out, the formula alone
    /// would not mend it.
    fn softmax_scale(&self, gqa: &GqaSpec) -> Option<Diagnostic> {
        let fixed = self.architecture.softmax_scale;
        let diagnostic = self.formula("softmax_scale", &gqa.softmax_scale, fixed)?;
        if gqa.query_pre_attn_scalar.is_some() || !fixed.contains("query_pre_attn_scalar") {
            return Some(diagnostic);
        }
        let way = format!("write `softmax_scale = \"{fixed}\"`, and `query_pre_attn_scalar` as config.json has it");
        Some(Diagnostic { helps: vec![way], patches: Vec::new(), ..diagnostic })
    }

    fn window(&self, gqa: &GqaSpec) -> Option<Diagnostic> {
        let windowed = gqa.sliding_window.value.is_some();
        (windowed && self.architecture.sliding_rope_theta.is_none()).then(|| {
            self.mismatch(
                format!("no layer of a `{}` checkpoint has a window", self.model_type()),
                &gqa.sliding_window.span,
                "here one has",
            )
            .context(&self.spec.checkpoint.model_type.span, "the architecture fixes it")
            .help("follow the architecture")
            .patch(&gqa.sliding_window.span, "\"none\"")
        })
    }

    fn rotation(&self, gqa: &GqaSpec) -> Vec<Diagnostic> {
        let architecture = self.architecture;
        let Some(rope) = &gqa.rope else {
            let diagnostic = self.mismatch(
                format!("attention of every `{}` checkpoint rotates queries and keys", self.model_type()),
                &gqa.qk_norm.key,
                "the rope_type of this attention is \"none\"",
            );
            let rotates = architecture.rotates.then(|| {
                diagnostic
                    .context(&self.spec.checkpoint.model_type.span, "the architecture fixes it")
                    .help("name the rope_type of the checkpoint's config.json; without one, it is \"default\"")
            });
            return rotates.into_iter().collect();
        };
        if !architecture.rotates {
            let message = format!("attention of every `{}` checkpoint rotates nothing", self.model_type());
            let diagnostic = self
                .mismatch(message, &rope.scaling.span, "here queries and keys are rotated")
                .context(&self.spec.checkpoint.model_type.span, UNREAD)
                .help("write rope_type = \"none\" and delete the other keys of the table");
            return vec![diagnostic];
        }
        let mut found: Vec<Diagnostic> = self.interleaved(rope).into_iter().collect();
        // Where layers with a window have a base of their own, the config stretches the others alone.
        let own_base = architecture.sliding_rope_theta.is_some_and(|key| key != "rope_theta");
        if own_base && gqa.sliding_window.value.is_some() && !matches!(rope.scaling.value, RopeScalingSpec::Default) {
            let message = format!("layers of a `{}` checkpoint with a window are not stretched", self.model_type());
            found.push(
                Diagnostic::new(Id::ArchitectureMismatch, message)
                    .label(&rope.scaling.span, "here they are")
                    .context(&gqa.sliding_window.span, "a window")
                    .help("write rope_type = \"default\" for them"),
            );
        }
        found
    }

    fn biases(&self, gqa: &GqaSpec) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        if let Bias::Fixed(value) = self.architecture.qkv_bias {
            found.extend(self.fixed("attention_bias", &gqa.attention_bias, value));
        }
        match self.architecture.output_bias {
            Bias::Fixed(value) => found.extend(self.fixed("attention_output_bias", &gqa.attention_output_bias, value)),
            // One key of config.json states both.
            Bias::Config if gqa.attention_output_bias.value != gqa.attention_bias.value => found.push(
                Diagnostic::new(Id::ArchitectureMismatch, "`attention_output_bias` differs from `attention_bias`")
                    .label(&gqa.attention_output_bias.span, "of o_proj")
                    .context(&gqa.attention_bias.span, "of q_proj, k_proj and v_proj")
                    .note(format!("one key of config.json, attention_bias, is about all four in `{}`", self.model_type()))
                    .help("follow `attention_bias`")
                    .patch(&gqa.attention_output_bias.span, gqa.attention_bias.value.to_string()),
            ),
            Bias::Config => {}
        }
        found
    }
}

/// Why rotation is not what a config seems to say.
const UNREAD: &str = "its code reads no base, though a config may state one";
