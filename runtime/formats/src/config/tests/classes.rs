//! What each class makes of its keys. The configs are those of public checkpoints, cut to the keys that matter.

use serde_json::{Value, json};

use super::{CanonicalConfig, shown};
use crate::expect::{ConfigContract, ConfigKey, ConfigMismatch, Expected, compare};

fn read(root: &Value) -> CanonicalConfig {
    CanonicalConfig::from_hf(root).unwrap()
}

/// The keys that a spec would have to state or ignore, with their values.
fn stated(config: &CanonicalConfig) -> Vec<String> {
    let nothing = ConfigContract { keys: &[], ignored: &[] };
    let line = |mismatch: ConfigMismatch| match mismatch {
        ConfigMismatch::Unbound { origin, value, .. } => format!("{origin} = {value}"),
        other => panic!("{other}"),
    };
    compare(config, &nothing).into_iter().map(line).collect()
}

/// What a config says without being asked, as `key = value`.
fn values(config: &CanonicalConfig, keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| config.get(key).map_or("-".to_owned(), |v| v.value.to_string())).collect()
}

fn deepseek_v3() -> Value {
    json!({
        "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false, "aux_loss_alpha": 0.001, "ep_size": 1,
        "first_k_dense_replace": 3, "hidden_act": "silu", "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
        "max_position_embeddings": 163_840, "model_type": "deepseek_v3", "moe_intermediate_size": 2048, "moe_layer_freq": 1,
        "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 128,
        "num_experts_per_tok": 8, "num_hidden_layers": 5, "num_key_value_heads": 128, "num_nextn_predict_layers": 1,
        "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
            "weight_block_size": [128, 128]},
        "rms_norm_eps": 1e-6, "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0,
            "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096, "type": "yarn"}, "rope_theta": 10000,
        "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "seq_aux": true, "tie_word_embeddings": false, "topk_group": 4,
        "topk_method": "noaux_tc", "torch_dtype": "bfloat16", "v_head_dim": 128, "vocab_size": 129_280,
    })
}

#[test]
fn deepseek_v3_of_the_hub() {
    let config = read(&deepseek_v3());
    assert_eq!(
        shown(&config, "mlp_layer_types"),
        "[\"dense\",\"dense\",\"dense\",\"sparse\",\"sparse\"] (first_k_dense_replace)"
    );
    assert_eq!(shown(&config, "shared_expert_intermediate_size"), "2048 (n_shared_experts)");
    assert_eq!(shown(&config, "rotary_dim"), "64 (qk_rope_head_dim)");
    assert_eq!(shown(&config, "interleaved"), "true (default of deepseek_v3)");
    assert_eq!(shown(&config, "truncate"), "true (default of yarn)");
    assert_eq!(shown(&config, "group_score"), "\"top2\" (default of deepseek_v3)");
    assert_eq!(shown(&config, "quantization_config.fmt"), "\"e4m3\" (quantization_config.fmt)");
    let gone = ["num_key_value_heads", "head_dim", "topk_method", "moe_layer_freq", "first_k_dense_replace", "n_shared_experts"];
    assert_eq!(values(&config, &gone), ["-"; 6]);
    assert_eq!(values(&config, &["rope_type", "intermediate_size", "mscale"]), ["\"yarn\"", "18432", "1.0"]);
    // All that a spec must speak of; how experts were spread in training is not among it.
    let all = stated(&config);
    assert!(all.contains(&"num_nextn_predict_layers = 1".to_owned()), "{all:?}");
    assert!(!all.iter().any(|line| line.starts_with("ep_size") || line.starts_with("aux_loss")), "{all:?}");
}

#[test]
fn what_disagrees_with_the_class_stays_for_a_comparison() {
    let mut root = deepseek_v3();
    root["topk_method"] = json!("greedy");
    root["moe_layer_freq"] = json!(2);
    root["num_key_value_heads"] = json!(8);
    root["qk_head_dim"] = json!(100);
    let all = stated(&read(&root));
    for line in ["topk_method = \"greedy\"", "moe_layer_freq = 2", "num_key_value_heads = 8", "qk_head_dim = 100"] {
        assert!(all.contains(&line.to_owned()), "{line}: {all:?}");
    }
}

#[test]
fn mistral4_defaults_and_its_wrapper() {
    let text = json!({
        "model_type": "mistral4", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 2, "head_dim": 128,
        "qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "v_head_dim": 128, "kv_lora_rank": 256, "q_lora_rank": 1024,
        "max_position_embeddings": 1_048_576, "moe_intermediate_size": 2048, "n_routed_experts": 128, "num_experts_per_tok": 4,
        "intermediate_size": 12288, "vocab_size": 131_072,
    });
    let bare = read(&text);
    assert_eq!(values(&bare, &["rope_type", "factor", "llama_4_scaling_beta", "mscale"]), ["\"yarn\"", "128.0", "0.1", "1.0"]);
    assert_eq!(values(&bare, &["head_dim", "intermediate_size", "group_score"]), ["-"; 3]);
    assert_eq!(shown(&bare, "mlp_layer_types"), "\"sparse\" (default of mistral4)");

    let mut wrapped =
        json!({"model_type": "mistral3", "image_token_id": 10, "vision_config": {"hidden_size": 1}, "text_config": text});
    wrapped["text_config"]["rope_parameters"] = json!({
        "rope_type": "yarn", "rope_theta": 10000.0, "factor": 128.0, "original_max_position_embeddings": 8192,
        "max_position_embeddings": 1_048_576, "partial_rotary_factor": 0.5, "mscale": 1.0, "mscale_all_dim": 0, "beta_fast": 32.0,
        "llama_4_scaling_beta": 0,
    });
    let config = read(&wrapped);
    assert_eq!(config.model_type(), "mistral4");
    assert_eq!(values(&config, &["partial_rotary_factor", "mscale_all_dim", "llama_4_scaling_beta"]), ["-"; 3]);
    assert_eq!(shown(&config, "mscale"), "1.0 (text_config.rope_parameters.mscale)");
    let all = stated(&config);
    assert!(all.contains(&"vision_config = {\"hidden_size\":1}".to_owned()) && all.contains(&"image_token_id = 10".to_owned()));
    assert!(!all.iter().any(|line| line.contains("rope_parameters.max_position_embeddings")), "{all:?}");
}

#[test]
fn nemotron_in_the_hubs_spelling_and_in_todays() {
    let common = json!({
        "model_type": "nemotron_h", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
        "mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 16, "n_routed_experts": 8, "num_experts_per_tok": 2,
        "moe_intermediate_size": 40, "moe_shared_expert_intermediate_size": 56, "n_shared_experts": 1, "moe_latent_size": 32,
        "intermediate_size": 96, "mlp_hidden_act": "relu2", "expand": 2, "residual_in_fp32": false, "mamba_hidden_act": "silu",
    });
    let with = |changes: Value| {
        let mut root = common.clone();
        root.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        root
    };
    let hub = with(json!({
        "hybrid_override_pattern": "MEM*E", "num_hidden_layers": 5, "norm_eps": 1e-5, "layer_norm_epsilon": 1e-5,
        "mamba_d_conv": 4, "mamba_n_groups": 2, "num_nextn_predict_layers": 1, "mtp_hybrid_override_pattern": "*E",
        "rope_theta": 10000, "partial_rotary_factor": 1.0,
    }));
    let text = serde_json::to_string(&hub).unwrap().replacen(
        '{',
        "{\"time_step_limit\": [0.0, Infinity], \"note\": \"NaN \\\" -Infinity\",",
        1,
    );
    let config = CanonicalConfig::from_hf_text(text.as_bytes()).unwrap();
    let types = "[\"linear_attention\",\"moe\",\"linear_attention\",\"full_attention\",\"moe\"]";
    assert_eq!(shown(&config, "layer_types"), format!("{types} (hybrid_override_pattern)"));
    assert_eq!(shown(&config, "time_step_limit"), "[0.0,\"inf\"] (time_step_limit)");
    assert_eq!(shown(&config, "note"), "\"NaN \\\" -Infinity\" (note)");
    let keys =
        ["rms_norm_eps", "conv_kernel", "n_groups", "hidden_act", "rope_type", "gated", "intermediate_size", "n_shared_experts"];
    assert_eq!(values(&config, &keys), ["0.00001", "4", "2", "\"relu2\"", "\"none\"", "false", "-", "-"]);
    assert_eq!(values(&config, &["shared_expert_intermediate_size", "mamba_hidden_act"]), ["56", "-"]);
    let all = stated(&config);
    assert!(all.contains(&"mtp_hybrid_override_pattern = \"*E\"".to_owned()), "{all:?}");
    for unread in ["rope_theta", "partial_rotary_factor", "expand", "residual_in_fp32", "time_step_limit"] {
        assert!(!all.iter().any(|line| line.starts_with(unread)), "{unread}: {all:?}");
    }

    let today = read(&with(json!({
        "layers_block_type": ["mamba", "mlp", "attention"], "time_step_limit": [0.0, {"__float__": "Infinity"}],
        "mtp_layers_block_type": ["full_attention", "moe"], "num_nextn_predict_layers": 0,
    })));
    assert_eq!(shown(&today, "layer_types"), "[\"linear_attention\",\"mlp\",\"full_attention\"] (layers_block_type)");
    assert_eq!(shown(&today, "num_hidden_layers"), "3 (number of layer_types)");
    assert_eq!(shown(&today, "time_step_limit"), "[0.0,\"inf\"] (time_step_limit)");
    assert_eq!(values(&today, &["intermediate_size", "mtp_layers_block_type", "num_nextn_predict_layers"]), ["96", "-", "-"]);

    let both = read(&with(json!({"layers_block_type": ["moe", "mlp"], "hybrid_override_pattern": "M"})));
    assert_eq!(shown(&both, "layer_types"), "[\"moe\",\"mlp\"] (layers_block_type)");
    assert_eq!(shown(&both, "hybrid_override_pattern"), "[\"linear_attention\"] (hybrid_override_pattern)");
    let odd = read(&with(json!({"hybrid_override_pattern": "MX"})));
    assert_eq!(values(&odd, &["layer_types", "hybrid_override_pattern"]), ["-", "\"MX\""]);
}

#[test]
fn qwen_experts_and_hybrids() {
    let moe = json!({
        "model_type": "qwen3_moe", "hidden_size": 64, "num_attention_heads": 4, "head_dim": 32, "num_hidden_layers": 4, "num_experts": 8,
        "num_experts_per_tok": 2, "moe_intermediate_size": 32, "intermediate_size": 96, "decoder_sparse_step": 1,
        "mlp_only_layers": [], "use_sliding_window": false, "sliding_window": 4096, "max_window_layers": 48,
        "router_aux_loss_coef": 0.001, "output_router_logits": false,
    });
    let config = read(&moe);
    assert_eq!(shown(&config, "n_routed_experts"), "8 (num_experts)");
    assert_eq!(shown(&config, "norm_topk_prob"), "false (default of qwen3_moe)");
    assert_eq!(shown(&config, "mlp_layer_types"), "\"sparse\" (mlp_only_layers)");
    assert_eq!(shown(&config, "layer_types"), "\"full_attention\" (use_sliding_window is false)");
    assert_eq!(values(&config, &["intermediate_size", "sliding_window", "group_score"]), ["-"; 3]);
    let mut mixed = moe.clone();
    mixed["mlp_only_layers"] = json!([3]);
    mixed["decoder_sparse_step"] = json!(2);
    let config = read(&mixed);
    assert_eq!(shown(&config, "mlp_layer_types"), "[\"dense\",\"sparse\",\"dense\",\"dense\"] (mlp_only_layers)");
    assert_eq!(values(&config, &["intermediate_size"]), ["96"]);

    let hybrid = json!({
        "model_type": "qwen3_5_moe", "tie_word_embeddings": false, "vision_config": {},
        "text_config": {
            "model_type": "qwen3_5_moe_text", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
            "num_hidden_layers": 4, "full_attention_interval": 4, "num_experts": 8, "moe_intermediate_size": 32,
            "shared_expert_intermediate_size": 40, "attn_output_gate": true, "mamba_ssm_dtype": "float32",
            "mtp_num_hidden_layers": 1, "rope_parameters": {"mrope_section": [1, 1, 1], "rope_theta": 1e7, "rope_type": "default"},
        },
    });
    let config = read(&hybrid);
    let types = "[\"linear_attention\",\"linear_attention\",\"linear_attention\",\"full_attention\"]";
    assert_eq!(shown(&config, "layer_types"), format!("{types} (one full_attention in 4 layers)"));
    assert_eq!(shown(&config, "rotary_dim"), "8 (head_dim * partial_rotary_factor)");
    assert_eq!(shown(&config, "shared_expert_gate"), "true (default of qwen3_5_moe_text)");
    assert_eq!(values(&config, &["full_attention_interval", "shared_expert_intermediate_size"]), ["-", "40"]);
    let all = stated(&config);
    assert!(all.contains(&"text_config.mtp_num_hidden_layers = 1".to_owned()), "{all:?}");
    assert!(!all.iter().any(|line| line.contains("mrope") || line.contains("mamba_ssm")), "{all:?}");
    let mut other = hybrid;
    other["text_config"]["layer_types"] = json!(["linear_attention", "full_attention", "linear_attention", "full_attention"]);
    assert_eq!(values(&read(&other), &["full_attention_interval"]), ["4"], "a list that says otherwise");
}

#[test]
fn gpt_oss_of_the_hub() {
    let config = read(&json!({
        "model_type": "gpt_oss", "hidden_size": 2880, "head_dim": 64, "num_attention_heads": 64, "num_key_value_heads": 8,
        "num_hidden_layers": 2, "num_local_experts": 32, "num_experts_per_tok": 4, "experts_per_token": 4, "intermediate_size": 2880,
        "initial_context_length": 4096, "max_position_embeddings": 131_072, "rope_theta": 150_000, "swiglu_limit": 7.0,
        "rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0, "original_max_position_embeddings": 4096,
            "rope_type": "yarn", "truncate": false},
        "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]},
    }));
    assert_eq!(shown(&config, "moe_intermediate_size"), "2880 (intermediate_size)");
    assert_eq!(shown(&config, "n_routed_experts"), "32 (num_local_experts)");
    assert_eq!(shown(&config, "layer_types"), "[\"sliding_attention\",\"full_attention\"] (one full_attention in 2 layers)");
    assert_eq!(shown(&config, "attention_bias"), "true (default of gpt_oss)");
    assert_eq!(values(&config, &["truncate", "swiglu_alpha", "mscale", "router_bias"]), ["false", "1.702", "-", "true"]);
    assert_eq!(values(&config, &["experts_per_token", "initial_context_length", "intermediate_size"]), ["-"; 3]);
    assert_eq!(shown(&config, "quantization_config.quant_method"), "\"mxfp4\" (quantization_config.quant_method)");
    let bare = read(&json!({"model_type": "gpt_oss", "num_hidden_layers": 2}));
    assert_eq!(values(&bare, &["rope_type", "factor", "truncate", "rope_theta"]), ["\"yarn\"", "32.0", "false", "150000.0"]);
}

#[test]
fn gemma2_minicpm3_and_deepseek_v2() {
    let gemma = json!({"model_type": "gemma2", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4});
    let config = read(&gemma);
    assert_eq!(values(&config, &["attn_logit_softcapping", "final_logit_softcapping"]), ["50.0", "30.0"]);
    assert_eq!(config.get("layer_types").unwrap().value.as_array().unwrap().len(), 4);
    let mut off = gemma;
    off["attn_logit_softcapping"] = Value::Null;
    assert_eq!(values(&read(&off), &["attn_logit_softcapping", "final_logit_softcapping"]), ["-", "30.0"]);

    let minicpm = json!({
        "model_type": "minicpm3", "hidden_size": 96, "num_attention_heads": 4, "num_hidden_layers": 4, "qk_nope_head_dim": 16,
        "qk_rope_head_dim": 16, "kv_lora_rank": 48, "q_lora_rank": 64, "head_dim": 16, "qk_head_dim": 32, "scale_depth": null,
        "dim_model_base": null, "num_key_value_heads": 4, "rope_scaling": null,
    });
    let config = read(&minicpm);
    assert_eq!(shown(&config, "scale_depth"), "2.0 (sqrt(num_hidden_layers))");
    assert_eq!(shown(&config, "dim_model_base"), "96 (hidden_size)");
    assert_eq!(shown(&config, "v_head_dim"), "24 (hidden_size / num_attention_heads)");
    assert_eq!(values(&config, &["interleaved", "scale_emb", "head_dim", "num_key_value_heads"]), ["false", "12.0", "-", "-"]);

    let v2 = |method: &str| {
        read(&json!({
            "model_type": "deepseek_v2", "hidden_size": 96, "num_attention_heads": 4, "num_hidden_layers": 2, "qk_nope_head_dim": 16,
            "qk_rope_head_dim": 16, "kv_lora_rank": 48, "q_lora_rank": null, "n_group": 8, "topk_group": 3, "topk_method": method,
            "n_routed_experts": 16, "n_shared_experts": 2, "moe_intermediate_size": 40, "first_k_dense_replace": 1,
        }))
    };
    let grouped = v2("group_limited_greedy");
    assert_eq!(values(&grouped, &["n_group", "topk_group", "group_score", "q_lora_rank"]), ["8", "3", "\"max\"", "-"]);
    assert_eq!(values(&grouped, &["shared_expert_intermediate_size", "scoring_func"]), ["80", "\"softmax\""]);
    assert_eq!(values(&v2("greedy"), &["n_group", "topk_group", "group_score", "topk_method"]), ["1", "1", "-", "-"]);
}

#[test]
fn yarn_of_other_classes_gets_its_defaults() {
    let config = read(&json!({
        "model_type": "qwen3", "hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 40960,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0},
    }));
    let keys = ["beta_fast", "beta_slow", "truncate", "original_max_position_embeddings", "attention_factor"];
    assert_eq!(values(&config, &keys), ["32.0", "1.0", "true", "40960", "-"]);
}

fn params() -> Value {
    json!({
        "dim": 4096, "n_layers": 36, "n_heads": 32, "n_kv_heads": 32, "head_dim": 128, "hidden_dim": 12288, "norm_eps": 1e-6,
        "vocab_size": 131_072, "rope_theta": 10000.0, "max_position_embeddings": 1_048_576, "tied_embeddings": false,
        "q_lora_rank": 1024, "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "yarn": {"original_max_position_embeddings": 8192, "factor": 128, "apply_scale": false, "beta": 32, "alpha": 1},
        "llama_4_scaling": {"original_max_position_embeddings": 8192, "beta": 0.1},
        "moe": {"num_experts": 128, "num_experts_per_tok": 4, "expert_hidden_dim": 2048, "num_shared_experts": 1,
            "route_every_n": 1, "first_k_dense_replace": 0, "num_expert_groups": 1, "num_expert_groups_per_tok": 1,
            "routed_scale": 1.0, "expert_parallel": 1, "expert_model_parallel": 1},
        "vision_encoder": {"hidden_size": 1024},
        "quantization": {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"},
    })
}

fn native(root: &Value) -> CanonicalConfig {
    CanonicalConfig::from_mistral(root.to_string().as_bytes()).unwrap()
}

#[test]
fn params_json_of_mistral_small_4() {
    let config = native(&params());
    assert_eq!(shown(&config, "model_type"), "\"mistral4\" (moe and kv_lora_rank are given)");
    assert_eq!(shown(&config, "hidden_size"), "4096 (dim)");
    assert_eq!(shown(&config, "factor"), "128 (yarn.factor)");
    assert_eq!(shown(&config, "attention_factor"), "1.0 (yarn.apply_scale)");
    assert_eq!(shown(&config, "llama_4_scaling_beta"), "0.1 (llama_4_scaling.beta)");
    assert_eq!(shown(&config, "n_routed_experts"), "128 (moe.num_experts)");
    assert_eq!(shown(&config, "shared_expert_intermediate_size"), "2048 (moe.num_shared_experts)");
    assert_eq!(shown(&config, "mlp_layer_types"), "\"sparse\" (moe.first_k_dense_replace)");
    assert_eq!(shown(&config, "quantization_config.format"), "\"nvfp4-pack-quantized\" (quantization.format)");
    assert_eq!(values(&config, &["rope_type", "mscale", "mscale_all_dim", "interleaved"]), ["\"yarn\"", "-", "-", "true"]);
    assert_eq!(values(&config, &["head_dim", "num_key_value_heads", "intermediate_size", "moe_layer_freq"]), ["-"; 4]);
    let all = stated(&config);
    assert!(all.contains(&"vision_encoder = {\"hidden_size\":1024}".to_owned()), "{all:?}");
    assert!(!all.iter().any(|line| line.contains("parallel")), "{all:?}");
}

#[test]
fn params_json_and_config_json_ask_for_two_scales() {
    let native = native(&params());
    const KEYS: &[ConfigKey] =
        &[ConfigKey::new("mscale_all_dim", Expected::Float(1.0)), ConfigKey::new("attention_factor", Expected::Absent)];
    let spec = ConfigContract { keys: KEYS, ignored: &[] };
    let found: Vec<String> = compare(&native, &spec).iter().map(ToString::to_string).collect();
    assert!(found.iter().any(|m| m.starts_with("attention_factor: the spec says nothing") && m.contains("yarn.apply_scale")));
    assert!(found.iter().any(|m| m.starts_with("mscale_all_dim: the spec says 1.0")), "{found:?}");
}

#[test]
fn params_json_that_says_too_little_or_two_things() {
    let mut scaled = params();
    scaled["yarn"]["apply_scale"] = json!(true);
    let config = native(&scaled);
    assert_eq!(values(&config, &["attention_factor", "yarn.apply_scale"]), ["-", "true"]);
    let mut two = params();
    two["llama_4_scaling"]["original_max_position_embeddings"] = json!(4096);
    let error = CanonicalConfig::from_mistral(two.to_string().as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("`llama_4_scaling.original_max_position_embeddings` is 4096 and `yarn.original"), "{error}");
    let error = CanonicalConfig::from_mistral(b"[]").unwrap_err().to_string();
    assert_eq!(error, "params.json is [], and it must be an object");
    let error = CanonicalConfig::from_mistral(b"{\"moe\": 1}").unwrap_err().to_string();
    assert_eq!(error, "moe is 1, and it must be an object");
    let dense = native(&json!({"dim": 64, "n_layers": 2, "n_heads": 4, "unknown": 7, "model_type": "transformer"}));
    assert_eq!(
        values(&dense, &["model_type", "layer_types", "interleaved", "unknown"]),
        ["\"mistral\"", "\"full_attention\"", "true", "7"]
    );
    assert_eq!(values(&dense, &["sliding_window", "rope_type", "num_key_value_heads"]), ["-", "\"default\"", "8"]);
}

#[test]
fn hostile_numbers_of_layers_make_no_lists() {
    for layers in [json!(1e15), json!(u64::MAX), json!(-1), json!("two")] {
        for model_type in ["gemma2", "deepseek_v3", "qwen3_moe", "qwen3_next"] {
            let config = read(&json!({
                "model_type": model_type, "num_hidden_layers": layers, "first_k_dense_replace": u64::MAX, "qk_nope_head_dim": u64::MAX,
                "qk_rope_head_dim": u64::MAX, "n_shared_experts": u64::MAX, "moe_intermediate_size": u64::MAX,
            }));
            assert_eq!(values(&config, &["mlp_layer_types"]), ["-"], "{model_type} {layers}");
        }
    }
}
