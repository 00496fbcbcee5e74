//! The text of a MODEL.toml from its description.

use tenon_formats::tools::{ReasoningParser, ToolSettings};

use super::description::{
    Block, ChatPart, DeltaNet, Description, Ffn, Gqa, LayersPart, Mamba2, Mixer, Mla, Mlp, ModelPart, Moe, Noted, Rope, Sampling,
    Scaling, WeightsPart,
};

/// Columns that a line of a list fills.
const WIDTH: usize = 110;

/// The text, and the keys whose value is `TODO`.
pub fn write(description: &Description) -> (String, Vec<String>) {
    let mut out = Text::default();
    model(&mut out, &description.model);
    checkpoint(&mut out, description);
    layers(&mut out, &description.layers);
    for (name, one) in &description.mixers {
        out.table(&format!("mixer.{name}"));
        match one {
            Mixer::Gqa(one) => gqa(&mut out, one),
            Mixer::Mla(one) => mla(&mut out, one),
            Mixer::Mamba2(one) => mamba2(&mut out, one),
            Mixer::DeltaNet(one) => delta_net(&mut out, one),
        }
        if let Mixer::Gqa(Gqa { rope, .. }) | Mixer::Mla(Mla { rope, .. }) = one {
            out.table(&format!("mixer.{name}.rope"));
            rotation(&mut out, rope);
        }
    }
    for (name, one) in &description.ffns {
        out.table(&format!("ffn.{name}"));
        match one {
            Ffn::Mlp(one) => mlp(&mut out, one),
            Ffn::Moe(one) => moe(&mut out, one),
        }
    }
    weights(&mut out, &description.weights);
    reasons(&mut out, "config.ignore", &description.config_ignore);
    chat(&mut out, &description.chat);
    sampling(&mut out, &description.sampling);
    (out.text, out.todo)
}

fn model(out: &mut Text, part: &ModelPart) {
    out.table("model");
    out.fixed("name", &part.name.as_str());
    out.fixed("targets", &["cpu"].as_slice());
    out.line("hidden_size", &part.hidden_size);
    out.line("vocab_size", &part.vocab_size);
    out.line("max_position_embeddings", &part.max_position_embeddings);
    out.line("rms_norm_eps", &part.rms_norm_eps);
    out.line("tie_word_embeddings", &part.tie_word_embeddings);
    out.fixed("rms_norm_unit_offset", &part.rms_norm_unit_offset);
    out.fixed("embedding_scale", &part.embedding_scale);
    out.maybe("final_logit_softcapping", &part.final_logit_softcapping);
    if let Some(scales) = &part.scales {
        out.line("scale_emb", &scales.scale_emb);
        out.line("scale_depth", &scales.scale_depth);
        out.line("dim_model_base", &scales.dim_model_base);
        out.fixed("residual_scale", &"scale_depth * rsqrt(num_hidden_layers)");
        out.fixed("logit_scale", &"dim_model_base / hidden_size");
    }
}

fn checkpoint(out: &mut Text, description: &Description) {
    let part = &description.checkpoint;
    out.table("checkpoint");
    out.line("source", &part.source);
    out.fixed("format", &part.format.as_str());
    out.fixed("model_type", &part.model_type.as_str());
    if let Some(repository) = &part.pull {
        out.table("[checkpoint.pull]");
        out.fixed("hf", &repository.as_str());
    }
}

fn layers(out: &mut Text, part: &LayersPart) {
    out.table("layers");
    out.line("num_hidden_layers", &part.num_hidden_layers);
    out.line("pattern", &part.pattern);
    for (name, Block { mixer, ffn, norm }) in &part.blocks {
        out.table(&format!("layers.{name}"));
        if let Some(mixer) = mixer {
            out.fixed("mixer", mixer);
        }
        if let Some(ffn) = ffn {
            out.fixed("ffn", ffn);
        }
        out.fixed("norm", norm);
    }
}

fn gqa(out: &mut Text, part: &Gqa) {
    out.fixed("kind", &"gqa");
    out.line("num_attention_heads", &part.num_attention_heads);
    out.line("num_key_value_heads", &part.num_key_value_heads);
    out.line("head_dim", &part.head_dim);
    out.line("attention_bias", &part.attention_bias);
    out.line("attention_output_bias", &part.attention_output_bias);
    out.fixed("qk_norm", &part.qk_norm);
    out.maybe("query_pre_attn_scalar", &part.query_pre_attn_scalar);
    out.fixed("softmax_scale", &part.softmax_scale);
    out.line("sliding_window", &part.sliding_window);
    out.maybe("attn_logit_softcapping", &part.attn_logit_softcapping);
    if part.attention_sinks {
        out.fixed("attention_sinks", &true);
    }
    if part.attn_output_gate {
        out.fixed("attn_output_gate", &true);
    }
    out.fixed("kv_cache_dtype", &part.kv_cache_dtype);
}

fn mla(out: &mut Text, part: &Mla) {
    out.fixed("kind", &"mla");
    out.line("num_attention_heads", &part.num_attention_heads);
    out.line("q_lora_rank", &part.q_lora_rank);
    out.line("kv_lora_rank", &part.kv_lora_rank);
    out.line("qk_nope_head_dim", &part.qk_nope_head_dim);
    out.line("qk_rope_head_dim", &part.qk_rope_head_dim);
    out.line("v_head_dim", &part.v_head_dim);
    out.fixed("latent_rms_norm_eps", &part.latent_rms_norm_eps);
    out.line("attention_bias", &part.attention_bias);
    out.fixed("softmax_scale", &part.softmax_scale);
    out.fixed("kv_cache_dtype", &part.kv_cache_dtype);
}

fn mamba2(out: &mut Text, part: &Mamba2) {
    out.fixed("kind", &"mamba2");
    out.line("mamba_num_heads", &part.mamba_num_heads);
    out.line("mamba_head_dim", &part.mamba_head_dim);
    out.line("ssm_state_size", &part.ssm_state_size);
    out.line("n_groups", &part.n_groups);
    out.line("conv_kernel", &part.conv_kernel);
    out.line("chunk_size", &part.chunk_size);
    out.line("use_conv_bias", &part.use_conv_bias);
    out.line("use_bias", &part.use_bias);
    out.line("time_step_min", &part.time_step_min);
}

fn delta_net(out: &mut Text, part: &DeltaNet) {
    out.fixed("kind", &"gated_delta_net");
    out.line("linear_num_key_heads", &part.linear_num_key_heads);
    out.line("linear_key_head_dim", &part.linear_key_head_dim);
    out.line("linear_num_value_heads", &part.linear_num_value_heads);
    out.line("linear_value_head_dim", &part.linear_value_head_dim);
    out.line("linear_conv_kernel_dim", &part.linear_conv_kernel_dim);
}

fn rotation(out: &mut Text, rope: &Rope) {
    let Some(rope) = rope else { return out.fixed("rope_type", &"none") };
    let name = match rope.scaling {
        Scaling::Default => "default",
        Scaling::Linear { .. } => "linear",
        Scaling::Llama3 { .. } => "llama3",
        Scaling::Yarn { .. } => "yarn",
    };
    out.fixed("rope_type", &name);
    out.line("rope_theta", &rope.rope_theta);
    match &rope.scaling {
        Scaling::Default => {}
        Scaling::Linear { factor } => out.line("factor", factor),
        Scaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
            out.line("factor", factor);
            out.line("low_freq_factor", low_freq_factor);
            out.line("high_freq_factor", high_freq_factor);
            out.line("original_max_position_embeddings", original_max_position_embeddings);
        }
        Scaling::Yarn {
            factor,
            original_max_position_embeddings,
            beta_fast,
            beta_slow,
            mscale,
            mscale_all_dim,
            attention_factor,
            truncate,
            llama_4_scaling_beta,
        } => {
            out.line("factor", factor);
            out.line("original_max_position_embeddings", original_max_position_embeddings);
            out.line("beta_fast", beta_fast);
            out.line("beta_slow", beta_slow);
            out.line("mscale", mscale);
            out.line("mscale_all_dim", mscale_all_dim);
            out.line("attention_factor", attention_factor);
            out.line("truncate", truncate);
            out.maybe("llama_4_scaling_beta", llama_4_scaling_beta);
        }
    }
    out.line("rotary_dim", &rope.rotary_dim);
    out.line("interleaved", &rope.interleaved);
}

fn mlp(out: &mut Text, part: &Mlp) {
    out.fixed("kind", &if part.gated { "gated_mlp" } else { "mlp" });
    out.line("intermediate_size", &part.intermediate_size);
    out.line("hidden_act", &part.hidden_act);
    out.line("mlp_bias", &part.mlp_bias);
}

fn moe(out: &mut Text, part: &Moe) {
    out.fixed("kind", &"moe");
    out.line("n_routed_experts", &part.n_routed_experts);
    out.line("num_experts_per_tok", &part.num_experts_per_tok);
    out.line("moe_intermediate_size", &part.moe_intermediate_size);
    out.line("hidden_act", &part.hidden_act);
    out.line("gated", &part.gated);
    out.line("expert_bias", &part.expert_bias);
    out.line("scoring_func", &part.scoring_func);
    out.line("router_bias", &part.router_bias);
    out.line("e_score_correction_bias", &part.e_score_correction_bias);
    out.line("n_group", &part.n_group);
    out.line("topk_group", &part.topk_group);
    out.maybe("group_score", &part.group_score);
    out.line("norm_topk_prob", &part.norm_topk_prob);
    out.line("routed_scaling_factor", &part.routed_scaling_factor);
    out.line("moe_latent_size", &part.moe_latent_size);
    out.line("shared_expert_intermediate_size", &part.shared_expert_intermediate_size);
    out.maybe("shared_expert_gate", &part.shared_expert_gate);
    out.line("swiglu_limit", &part.swiglu_limit);
    out.maybe("swiglu_alpha", &part.swiglu_alpha);
}

fn weights(out: &mut Text, part: &WeightsPart) {
    out.table("weights");
    let accept: Vec<&str> = part.accept.iter().map(String::as_str).collect();
    out.fixed("accept", &accept.as_slice());
    if let Some(names) = &part.names {
        out.line("names", names);
    }
    out.maybe("experts", &part.experts);
    reasons(out, "weights.ignore", &part.ignore);
}

fn reasons(out: &mut Text, table: &str, reasons: &[(String, Noted<&'static str>)]) {
    if !reasons.is_empty() {
        out.table(table);
        for (name, reason) in reasons {
            out.line(&key(name), reason);
        }
    }
}

fn chat(out: &mut Text, part: &ChatPart) {
    out.table("chat");
    out.line("template", &part.template);
    out.table("tools");
    match part.settings.tools {
        Some(ToolSettings { parser, skip_template_tools, steering, thinking }) => {
            let note = Some("the format that the chat template teaches".to_owned());
            out.line("parser", &Noted { value: Some(parser.as_str()), note });
            out.fixed("skip_template_tools", &skip_template_tools);
            out.fixed("steering", &steering);
            out.fixed("thinking", &thinking);
        }
        None => out.line("parser", &Noted { value: Some("none"), note: part.why_no_tools.map(str::to_owned) }),
    }
    out.table("reasoning");
    out.fixed("parser", &part.settings.reasoning.map_or("none", ReasoningParser::as_str));
}

fn sampling(out: &mut Text, part: &Sampling) {
    out.table("sampling");
    out.line("temperature", &part.temperature);
    out.line("top_p", &part.top_p);
    out.line("top_k", &part.top_k);
}

/// The text so far.
#[derive(Default)]
struct Text {
    text: String,
    table: String,
    todo: Vec<String>,
}

impl Text {
    fn table(&mut self, name: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text += &format!("[{name}]\n");
        name.trim_matches(['[', ']']).clone_into(&mut self.table);
    }

    fn fixed(&mut self, key: &str, value: &impl Toml) {
        self.text += &format!("{key} = {}\n", value.toml());
    }

    fn line<T: Toml>(&mut self, key: &str, Noted { value, note }: &Noted<T>) {
        let value = value.as_ref().map_or_else(
            || {
                self.todo.push(format!("{}.{key}", self.table));
                "\"TODO\"".to_owned()
            },
            T::toml,
        );
        self.text += &format!("{key} = {value}");
        if let Some(note) = note {
            self.text += &format!("  # {}", one_line(note));
        }
        self.text.push('\n');
    }

    fn maybe<T: Toml>(&mut self, key: &str, value: &Option<Noted<T>>) {
        if let Some(value) = value {
            self.line(key, value);
        }
    }
}

/// A comment ends with its line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A key, in quotes where it needs them.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { name.toml() }
}

/// A value as TOML writes it.
trait Toml {
    fn toml(&self) -> String;
}

impl Toml for u64 {
    fn toml(&self) -> String {
        self.to_string()
    }
}

impl Toml for bool {
    fn toml(&self) -> String {
        self.to_string()
    }
}

impl Toml for f64 {
    /// With a point or an exponent, so that it stays a float.
    fn toml(&self) -> String {
        format!("{self:?}")
    }
}

impl Toml for str {
    fn toml(&self) -> String {
        let mut quoted = String::from('"');
        for c in self.chars() {
            match c {
                '"' | '\\' => quoted.extend(['\\', c]),
                c if c.is_control() => quoted += &format!("\\u{:04X}", c as u32),
                c => quoted.push(c),
            }
        }
        quoted + "\""
    }
}

impl Toml for &str {
    fn toml(&self) -> String {
        (**self).toml()
    }
}

impl Toml for String {
    fn toml(&self) -> String {
        self.as_str().toml()
    }
}

impl<T: Toml> Toml for Option<T> {
    fn toml(&self) -> String {
        self.as_ref().map_or_else(|| "\"none\"".to_owned(), T::toml)
    }
}

impl Toml for &[&str] {
    /// In one line, or in lines of a width.
    fn toml(&self) -> String {
        let names: Vec<String> = self.iter().map(Toml::toml).collect();
        let line = format!("[{}]", names.join(", "));
        if line.len() <= WIDTH {
            return line;
        }
        let (mut text, mut row) = (String::from("[\n"), String::new());
        for name in names {
            if row.len() + name.len() > WIDTH - 6 {
                text += &format!("   {row}\n");
                row.clear();
            }
            row += &format!(" {name},");
        }
        text + &format!("   {row}\n]")
    }
}

impl Toml for Vec<&str> {
    fn toml(&self) -> String {
        self.as_slice().toml()
    }
}
