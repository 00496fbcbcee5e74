//! Latent and recurrent mixers, experts, and the keys that belong to them.

use crate::parse::fixtures::{HYBRID, KERNEL, LATENT, MODEL, complaints, parse_files};
use crate::spec::{
    Activation, ExpertLayout, FfnSpec, GroupScore, KvDtype, MixerSpec, MlaForm, ModelSpec, RopeScalingSpec, ScoringFunc, Target,
};

fn read(text: &str) -> ModelSpec {
    let (mut specs, diags, sources) = parse_files(&[("specs/one/MODEL.toml", text)]);
    assert_eq!(diags.render(&sources, crate::diagnostic::Format::Human, false), "");
    specs.models.remove("one").unwrap().0
}

/// The text with one line replaced by others.
fn with(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "`{from}`");
    text.replace(from, to)
}

/// What is wrong, without its place.
fn messages(text: &str) -> Vec<String> {
    complaints(text).iter().map(|line| line.split_once(": ").unwrap_or_default().1.to_owned()).collect()
}

#[test]
fn a_latent_attention_and_experts_are_read_in_full() {
    let spec = read(LATENT);
    let (_, MixerSpec::Mla(mla)) = &spec.mixers[0] else { panic!("mla") };
    assert_eq!((*mla.num_attention_heads, *mla.q_lora_rank, *mla.kv_lora_rank), (4, Some(48), 64));
    assert_eq!((*mla.qk_nope_head_dim, *mla.qk_rope_head_dim, *mla.v_head_dim), (32, 16, 24));
    assert_eq!((*mla.latent_rms_norm_eps, *mla.attention_bias), (1e-6, false));
    assert_eq!(mla.kv_cache_dtype.iter().map(|d| d.value).collect::<Vec<_>>(), [KvDtype::Bf16, KvDtype::Fp8E4m3]);
    let RopeScalingSpec::Yarn(yarn) = &*mla.rope.scaling else { panic!("yarn") };
    assert_eq!((*yarn.factor, *yarn.original_max_position_embeddings, *yarn.beta_fast, *yarn.beta_slow), (4.0, 64, 32.0, 1.0));
    assert_eq!((*yarn.mscale, *yarn.mscale_all_dim, *yarn.attention_factor), (Some(1.0), Some(1.0), None));
    assert!(*yarn.truncate && yarn.llama_4_scaling_beta.is_none());

    let (_, FfnSpec::Moe(moe)) = &spec.ffns[0] else { panic!("moe") };
    assert_eq!((*moe.n_routed_experts, *moe.num_experts_per_tok, *moe.moe_intermediate_size), (8, 2, 48));
    assert_eq!((*moe.hidden_act, *moe.gated, *moe.expert_bias), (Activation::Silu, true, false));
    assert_eq!((*moe.scoring_func, *moe.router_bias, *moe.e_score_correction_bias), (ScoringFunc::Sigmoid, false, true));
    assert_eq!((*moe.n_group, *moe.topk_group, moe.group_score.as_ref().map(|s| s.value)), (4, 2, Some(GroupScore::Top2)));
    assert_eq!((*moe.norm_topk_prob, *moe.routed_scaling_factor, *moe.moe_latent_size), (true, 2.5, None));
    assert_eq!((*moe.shared_expert_intermediate_size, moe.shared_expert_gate.as_ref().map(|g| g.value)), (Some(48), Some(false)));
    assert!(moe.swiglu_limit.is_none() && moe.swiglu_alpha.is_none());
    assert_eq!(spec.weights.names.as_ref().unwrap().value, "model.language_model.layers.{layer}");
    assert_eq!(spec.weights.experts.as_ref().unwrap().value, ExpertLayout::Each);
}

#[test]
fn every_other_kind_is_read_in_full() {
    let spec = read(HYBRID);
    let model = &spec.model;
    assert_eq!(model.residual_scale.as_ref().unwrap().to_string(), "scale_depth * rsqrt(num_hidden_layers)");
    assert_eq!(model.logit_scale.as_ref().unwrap().to_string(), "dim_model_base / hidden_size");
    let number = |n: &Option<crate::source::Spanned<f64>>| n.as_ref().map(|n| n.value);
    assert_eq!(
        [number(&model.scale_emb), number(&model.scale_depth), number(&model.dim_model_base)],
        [Some(12.0), Some(1.4), Some(256.0)]
    );
    assert_eq!(number(&model.final_logit_softcapping), Some(30.0));

    let [(_, MixerSpec::Mamba2(mamba2)), (_, MixerSpec::GatedDeltaNet(delta)), (_, MixerSpec::Gqa(gqa))] = &spec.mixers[..]
    else {
        panic!("three mixers")
    };
    assert_eq!((*mamba2.mamba_num_heads, *mamba2.mamba_head_dim, *mamba2.ssm_state_size, *mamba2.n_groups), (8, 16, 16, 2));
    assert_eq!((*mamba2.conv_kernel, *mamba2.chunk_size, *mamba2.time_step_min), (4, 32, 0.001));
    assert!(*mamba2.use_conv_bias && !*mamba2.use_bias);
    assert_eq!((*delta.linear_num_key_heads, *delta.linear_key_head_dim, *delta.linear_num_value_heads), (2, 16, 4));
    assert_eq!((*delta.linear_value_head_dim, *delta.linear_conv_kernel_dim), (16, 4));
    assert_eq!((number(&gqa.attn_logit_softcapping), *gqa.sliding_window), (Some(50.0), Some(128)));
    assert!(gqa.attention_sinks.as_ref().unwrap().value && gqa.attn_output_gate.as_ref().unwrap().value);
    assert!(gqa.rope.is_none());
    let (_, FfnSpec::Mlp { hidden_act, .. }) = &spec.ffns[0] else { panic!("mlp") };
    assert_eq!(**hidden_act, Activation::Relu2);
}

#[test]
fn keys_that_the_architecture_decides_on_may_be_left_out() {
    let optional = [
        "mixer = ",
        "ffn = ",
        "names = ",
        "experts = ",
        "group_score = ",
        "shared_expert_gate = ",
        "scale_emb = ",
        "scale_depth = ",
        "dim_model_base = ",
        "final_logit_softcapping = ",
        "residual_scale = ",
        "logit_scale = ",
        "attn_logit_softcapping = ",
        "attention_sinks = ",
        "attn_output_gate = ",
    ];
    for text in [LATENT, HYBRID] {
        for line in text.lines().filter(|line| line.contains(" = ")) {
            let found = complaints(&text.replacen(&format!("{line}\n"), "", 1));
            let is_optional = optional.iter().any(|o| line.starts_with(o));
            assert_eq!(found.is_empty(), is_optional, "without `{line}`: {found:?}");
            let key = line.split(' ').next().unwrap();
            let place = crate::parse::whereabouts::of(key).is_some();
            assert!(is_optional || place, "nobody is told where `{key}` is found");
        }
    }
}

#[test]
fn numbers_that_may_be_none() {
    let spec = read(&with(LATENT, "q_lora_rank = 48", "q_lora_rank = \"none\""));
    let (_, MixerSpec::Mla(mla)) = &spec.mixers[0] else { panic!("mla") };
    assert!(mla.q_lora_rank.is_none());
    let wrong = "error[value-out-of-range]: `q_lora_rank` must be a whole number, or \"none\" where there is none";
    assert_eq!(messages(&with(LATENT, "q_lora_rank = 48", "q_lora_rank = \"all\"")), [wrong]);
    let wrong = "error[wrong-type]: `mscale` must be a number";
    assert_eq!(messages(&with(LATENT, "mscale = 1.0", "mscale = true")), [wrong]);
    let wrong = "error[value-out-of-range]: `swiglu_limit` must be finite and over 0";
    assert_eq!(messages(&with(LATENT, "swiglu_limit = \"none\"", "swiglu_limit = -7.0")), [wrong]);
}

#[test]
fn rope_types_have_their_keys_and_no_others() {
    let unstated = |message: &str| format!("error[rope-scaling-unstated]: {message}");
    let found = messages(&with(LATENT, "mscale_all_dim = 1.0\n", ""));
    assert_eq!(found, [unstated("rope_type `yarn` needs `mscale_all_dim`")]);
    let found = messages(&with(LATENT, "truncate = true", "truncate = true\nlow_freq_factor = 1.0"));
    assert_eq!(found, [unstated("rope_type `yarn` has no `low_freq_factor`")]);
    let found = messages(&with(HYBRID, "rope_type = \"none\"", "rope_type = \"none\"\nrope_theta = 10000.0"));
    assert_eq!(found, [unstated("rope_type `none` has no `rope_theta`")]);
    let found = messages(&with(MODEL, "rope_type = \"default\"", "rope_type = \"linear\""));
    assert_eq!(found, [unstated("rope_type `linear` needs `factor`")]);
    let found = messages(&with(MODEL, "rope_type = \"default\"", "rope_type = \"default\"\nllama_4_scaling_beta = 0.1"));
    assert_eq!(found, [unstated("rope_type `default` has no `llama_4_scaling_beta`")]);

    let spec = read(&with(MODEL, "rope_type = \"default\"", "rope_type = \"linear\"\nfactor = 8.0"));
    let (_, MixerSpec::Gqa(gqa)) = &spec.mixers[0] else { panic!("gqa") };
    assert!(matches!(&*gqa.rope.as_ref().unwrap().scaling, RopeScalingSpec::Linear { factor } if factor.value == 8.0));
}

#[test]
fn keys_of_one_kind_are_unknown_to_another() {
    let found = messages(&with(HYBRID, "time_step_min = 0.001", "time_step_min = 0.001\nhead_dim = 32"));
    assert_eq!(found, ["error[unknown-key]: unknown key `head_dim` in `[mixer.mamba]`"]);
    let found = messages(&with(HYBRID, "conv_kernel = 4\n", "conv_kernel = 1\n"));
    assert_eq!(found, ["error[value-out-of-range]: `conv_kernel` must be at least 2"]);
}

#[test]
fn no_gate_has_relu2() {
    let found = messages(&with(HYBRID, "kind = \"mlp\"", "kind = \"gated_mlp\""));
    assert_eq!(found, ["error[unknown-value]: `hidden_act` cannot be `relu2` yet"]);
    let found = messages(&with(LATENT, "hidden_act = \"silu\"", "hidden_act = \"relu2\""));
    assert_eq!(found, ["error[unknown-value]: `hidden_act` cannot be `relu2` yet"]);
}

#[test]
fn the_prefix_of_a_layer_names_the_layer_last() {
    let names = "names = \"model.language_model.layers.{layer}\"";
    for good in ["layers.{layer}", "language_model.model.layers.{layer}"] {
        read(&with(LATENT, names, &format!("names = \"{good}\"")));
    }
    for bad in [
        "model.layers",
        "model.layers.{layer}.",
        "{layer}.layers.{layer}",
        "model..layers.{layer}",
        "model.{layer}",
        "a b.layers.{layer}",
    ] {
        let found = messages(&with(LATENT, names, &format!("names = \"{bad}\"")));
        assert!(found[0].starts_with("error[value-out-of-range]: `names` must be"), "{bad}: {found:?}");
    }
}

#[test]
fn forms_of_latent_attention_stand_in_the_kernel_file() {
    let files = [("specs/one/MODEL.toml", LATENT), ("specs/one/KERNEL.toml", KERNEL)];
    let (specs, diags, sources) = parse_files(&files);
    assert!(!diags.has_errors());
    let kernel = specs.models["one"].1.as_ref().unwrap();
    let form = &kernel.mla[0];
    assert_eq!((form.target.value, sources.text(&form.header)), (Target::Cpu, "[cpu.mla]"));
    assert_eq!(form.prefill.as_ref().map(|f| f.value), Some(MlaForm::Expanded));
    assert_eq!(form.decode.as_ref().map(|f| f.value), Some(MlaForm::Absorbed));
    assert_eq!(kernel.entries.len(), 1);

    let (_, diags, _) = parse_files(&[files[0], ("specs/one/KERNEL.toml", "[cpu.mla]\ndecode = \"absorb\"\ntile = 4\n")]);
    let found: Vec<&str> = diags.sorted().iter().map(|d| d.message.as_str()).collect();
    assert_eq!(found, ["`decode` cannot be `absorb`", "unknown key `tile` in `[cpu.mla]`"]);
}
