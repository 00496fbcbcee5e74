//! Config cases: what public checkpoints write, in both formats.

mod classes;

use serde_json::json;

use super::*;
use crate::gguf::{Array, Gguf, Value as GgufValue};
use crate::write::{self, Tensor};

/// A llama config with `changes` over it.
fn llama(changes: Value) -> CanonicalConfig {
    CanonicalConfig::from_hf(&with(changes)).unwrap()
}

fn with(changes: Value) -> Value {
    let mut root = json!({
        "model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2,
        "num_hidden_layers": 2, "intermediate_size": 1024, "vocab_size": 1000, "rms_norm_eps": 1e-5,
        "max_position_embeddings": 2048, "tie_word_embeddings": false, "hidden_act": "silu",
    });
    for (key, value) in changes.as_object().unwrap() {
        root[key] = value.clone();
    }
    root
}

/// `value (origin)` of a key.
fn shown(config: &CanonicalConfig, key: &str) -> String {
    config.get(key).map_or("-".to_owned(), |v| format!("{} ({})", v.value, v.origin))
}

#[test]
fn null_and_absent_dims_follow_from_others() {
    let config = llama(json!({"head_dim": null}));
    assert_eq!(shown(&config, "head_dim"), "64 (hidden_size / num_attention_heads)");
    assert_eq!(shown(&config, "rotary_dim"), "64 (head_dim * partial_rotary_factor)");
    let mut root = with(json!({}));
    root.as_object_mut().unwrap().remove("num_key_value_heads");
    let config = CanonicalConfig::from_hf(&root).unwrap();
    assert_eq!(shown(&config, "num_key_value_heads"), "8 (num_attention_heads)");
    assert_eq!(shown(&llama(json!({"num_attention_heads": 7})), "head_dim"), "-");
    assert_eq!(shown(&llama(json!({"num_attention_heads": 0})), "head_dim"), "-");
}

#[test]
fn rotary_settings_come_from_three_places() {
    let flat = llama(json!({"rope_theta": 500000.0, "rope_scaling": {"factor": 8.0, "type": "linear"}}));
    assert_eq!(shown(&flat, "rope_theta"), "500000.0 (rope_theta)");
    assert_eq!(shown(&flat, "factor"), "8.0 (rope_scaling.factor)");
    assert_eq!(shown(&flat, "rope_type"), "\"linear\" (rope_scaling.type)");

    let nested = llama(json!({"rope_theta": 1.0, "rope_parameters": {"rope_theta": 2.0, "rope_type": "default"}}));
    assert_eq!(shown(&nested, "rope_theta"), "2.0 (rope_parameters.rope_theta)");
    let nested = llama(json!({"rope_theta": 1.0, "rope_parameters": {"rope_theta": null, "rope_type": "default"}}));
    assert_eq!(shown(&nested, "rope_theta"), "1.0 (rope_theta)");

    let none = llama(json!({"rope_scaling": null}));
    assert_eq!(shown(&none, "rope_theta"), "10000.0 (default of llama)");
    assert_eq!(shown(&none, "rope_type"), "\"default\" (default of llama)");
}

#[test]
fn rotary_tables_that_disagree_are_refused() {
    let error = |changes| CanonicalConfig::from_hf(&with(changes)).unwrap_err().to_string();
    assert_eq!(
        error(json!({"rope_parameters": {"factor": 2.0}, "rope_scaling": {"factor": 4.0}})),
        "`rope_parameters.factor` is 2.0 and `rope_scaling.factor` is 4.0, and the two are one setting: remove one of them"
    );
    assert_eq!(
        error(json!({"rope_scaling": {"rope_type": "default", "type": "mrope"}})),
        "`rope_scaling.rope_type` is \"default\" and `rope_scaling.type` is \"mrope\", and the two are one setting: \
         remove one of them"
    );
    assert_eq!(error(json!({"rope_scaling": 2.0})), "rope_scaling is 2.0, and it must be an object");
    let both = llama(json!({"rope_scaling": {"rope_type": "yarn", "type": "yarn"}}));
    assert_eq!(both.text("rope_type"), Some("yarn"));
}

#[test]
fn a_rotary_table_replaces_no_other_key() {
    let config = llama(json!({"rope_parameters": {"hidden_size": 1, "rope_theta": 2.0}}));
    assert_eq!(shown(&config, "hidden_size"), "512 (hidden_size)");
    assert_eq!(shown(&config, "rope_parameters.hidden_size"), "1 (rope_parameters.hidden_size)");
    for value in [json!(1), json!({})] {
        let dotted = with(json!({"rope_parameters": {"hidden_size": value}, "rope_parameters.hidden_size": 3}));
        let error = CanonicalConfig::from_hf(&dotted).unwrap_err().to_string();
        assert!(error.starts_with("`rope_parameters.hidden_size` is 3 and `rope_parameters.hidden_size` is "), "{error}");
    }
}

#[test]
fn rotary_tables_per_layer_type_get_the_older_flat_names() {
    let config = llama(json!({"rope_parameters": {
        "full_attention": {"rope_theta": 1e6, "rope_type": "default", "factor": null},
        "sliding_attention": {"rope_theta": 1e4, "rope_type": "default", "factor": 8.0},
        "chunked_attention": {"rope_theta": 1e5},
    }}));
    assert_eq!(shown(&config, "rope_theta"), "1000000.0 (rope_parameters.full_attention.rope_theta)");
    assert_eq!(shown(&config, "rope_local_base_freq"), "10000.0 (rope_parameters.sliding_attention.rope_theta)");
    let factor = "rope_parameters.sliding_attention.factor";
    assert_eq!(shown(&config, factor), format!("8.0 ({factor})"));
    assert_eq!(shown(&config, "rope_parameters.full_attention.factor"), "-");
    let other = shown(&config, "rope_parameters.chunked_attention");
    assert_eq!(other, "{\"rope_theta\":100000.0} (rope_parameters.chunked_attention)");
}

#[test]
fn the_text_part_wins_and_its_nulls_hide_nothing() {
    let root = json!({
        "model_type": "mistral3", "torch_dtype": "bfloat16", "vision_config": {"hidden_size": 1},
        "text_config": {"model_type": "mistral", "torch_dtype": null, "hidden_size": 64, "num_attention_heads": 4},
    });
    let config = CanonicalConfig::from_hf(&root).unwrap();
    assert_eq!(shown(&config, "model_type"), "\"mistral\" (text_config.model_type)");
    assert_eq!(shown(&config, "dtype"), "\"bfloat16\" (torch_dtype)");
    assert_eq!(shown(&config, "hidden_size"), "64 (text_config.hidden_size)");
    assert_eq!(shown(&config, "vision_config"), "{\"hidden_size\":1} (vision_config)");
}

#[test]
fn layer_types_that_agree_are_one_value() {
    let config = llama(json!({"layer_types": ["full_attention", "full_attention"]}));
    assert_eq!(shown(&config, "layer_types"), "\"full_attention\" (layer_types)");
    let short = llama(json!({"layer_types": ["full_attention"]}));
    assert_eq!(shown(&short, "layer_types"), "[\"full_attention\"] (layer_types)");
    let mixed = llama(json!({"layer_types": ["full_attention", "sliding_attention"]}));
    assert_eq!(shown(&mixed, "layer_types"), "[\"full_attention\",\"sliding_attention\"] (layer_types)");
}

#[test]
fn a_window_that_is_off_is_no_window() {
    let qwen = |changes: Value| llama(changes);
    let off = qwen(json!({"model_type": "qwen3", "use_sliding_window": false, "sliding_window": 32768}));
    assert_eq!(shown(&off, "sliding_window"), "-");
    assert_eq!(shown(&off, "layer_types"), "\"full_attention\" (use_sliding_window is false)");
    assert_eq!(shown(&off, "head_dim"), "128 (default of qwen3)");
    let on = qwen(json!({"model_type": "qwen2", "use_sliding_window": true, "sliding_window": 32768}));
    assert_eq!(shown(&on, "sliding_window"), "32768 (sliding_window)");
    assert_eq!(shown(&on, "max_window_layers"), "28 (default of qwen2)");

    let mistral = |changes: Value| llama(changes);
    let null = mistral(json!({"model_type": "mistral", "sliding_window": null}));
    assert_eq!(shown(&null, "sliding_window"), "-");
    assert_eq!(shown(&null, "layer_types"), "\"full_attention\" (sliding_window is null)");
    let absent = mistral(json!({"model_type": "mistral"}));
    assert_eq!(shown(&absent, "sliding_window"), "4096 (default of mistral)");
    assert_eq!(shown(&absent, "layer_types"), "\"sliding_attention\" (sliding_window is given)");
}

#[test]
fn biases_that_only_the_model_code_knows() {
    let qwen2 = llama(json!({"model_type": "qwen2"}));
    assert_eq!((qwen2.bool("attention_bias"), qwen2.bool("attention_output_bias")), (Some(true), Some(false)));
    let biased = llama(json!({"attention_bias": true}));
    assert_eq!(shown(&biased, "attention_output_bias"), "true (attention_bias)");
}

#[test]
fn token_ids_are_one_or_many() {
    let config = llama(json!({"bos_token_id": 1, "eos_token_id": [2, 3]}));
    assert_eq!(config.token_ids("bos_token_id"), Some(vec![1]));
    assert_eq!(config.token_ids("eos_token_id"), Some(vec![2, 3]));
    assert_eq!(config.token_ids("pad_token_id"), None);
    assert_eq!(llama(json!({"eos_token_id": "</s>"})).token_ids("eos_token_id"), None);
}

#[test]
fn what_is_no_config_is_refused() {
    let message = |text: &str| CanonicalConfig::from_hf_text(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(message("[]"), "config.json is [], and it must be an object");
    assert_eq!(message("{\"text_config\": 1}"), "text_config is 1, and it must be an object");
    let nothing = "`model_type` is missing or no text, and nothing else says which architecture this is";
    assert_eq!(message("{\"model_type\": null}"), nothing);
    assert_eq!(message("{\"model_type\": 5}"), nothing);
    assert!(message("{\"a\": 1, \"a\": 2}").starts_with("duplicate key `a`"));
    assert!(message("").starts_with("EOF"));
}

fn gguf(keys: &[(&str, GgufValue)], tensors: &[&str]) -> CanonicalConfig {
    let mut all = vec![
        ("general.architecture", GgufValue::String("llama".into())),
        ("llama.block_count", GgufValue::U32(2)),
        ("llama.embedding_length", GgufValue::U32(96)),
        ("llama.attention.head_count", GgufValue::U32(6)),
        ("llama.attention.layer_norm_rms_epsilon", GgufValue::F32(1e-5)),
    ];
    all.extend_from_slice(keys);
    let tensors: Vec<_> = tensors.iter().map(|name| Tensor::f32(name, &[1], &[0.0])).collect();
    CanonicalConfig::from_gguf(&Gguf::read(&write::gguf(&all, &tensors)).unwrap()).unwrap()
}

#[test]
fn gguf_keys_get_their_canonical_names() {
    let config = gguf(
        &[
            ("llama.rope.freq_base", GgufValue::F32(5e5)),
            ("llama.rope.dimension_count", GgufValue::U32(8)),
            ("llama.expert_count", GgufValue::U32(4)),
            ("tokenizer.ggml.tokens", GgufValue::Array(Array::String(vec!["a".into(), "b".into()]))),
            ("tokenizer.ggml.eos_token_id", GgufValue::U32(1)),
            ("llama.rope.scaling.type", GgufValue::String("none".into())),
        ],
        &[],
    );
    assert_eq!(shown(&config, "model_type"), "\"llama\" (general.architecture)");
    assert_eq!(shown(&config, "hidden_size"), "96 (llama.embedding_length)");
    assert_eq!(shown(&config, "rms_norm_eps"), "0.00001 (llama.attention.layer_norm_rms_epsilon)");
    assert_eq!(shown(&config, "head_dim"), "16 (hidden_size / num_attention_heads)");
    assert_eq!(shown(&config, "num_key_value_heads"), "6 (num_attention_heads)");
    assert_eq!(shown(&config, "rotary_dim"), "8 (llama.rope.dimension_count)");
    assert_eq!(shown(&config, "partial_rotary_factor"), "0.5 (rotary_dim / head_dim)");
    assert_eq!(shown(&config, "vocab_size"), "2 (number of tokenizer.ggml.tokens)");
    assert_eq!(shown(&config, "rope_type"), "\"default\" (llama.rope.scaling.type)");
    assert_eq!(shown(&config, "llama.expert_count"), "4 (llama.expert_count)");
    assert_eq!(shown(&config, "eos_token_id"), "1 (tokenizer.ggml.eos_token_id)");
    assert_eq!(shown(&config, "hidden_act"), "\"silu\" (default of llama)");
    assert_eq!(config.keys().filter(|(key, _)| key.starts_with("tokenizer.")).count(), 0);
}

#[test]
fn gguf_tensors_say_what_no_key_says() {
    let plain = gguf(&[], &["output.weight"]);
    assert_eq!(shown(&plain, "tie_word_embeddings"), "false (output.weight)");
    assert_eq!(shown(&plain, "attention_bias"), "false (no blk.0.attn_q.bias)");
    assert_eq!(shown(&plain, "rope_type"), "\"default\" (default of llama)");
    let other = gguf(&[], &["blk.0.attn_q.bias", "rope_freqs.weight"]);
    assert_eq!(shown(&other, "tie_word_embeddings"), "true (no output.weight)");
    assert_eq!(shown(&other, "attention_bias"), "true (blk.0.attn_q.bias)");
    assert_eq!(shown(&other, "rope_type"), "\"rope_freqs\" (rope_freqs.weight)");
}

/// llama.cpp has them in its code: which layers see a window, and what the scale is taken over.
#[test]
fn gguf_of_gemma3_says_what_its_reader_knows() {
    let config = |layers: u32| {
        let keys = [
            ("general.architecture", GgufValue::String("gemma3".into())),
            ("gemma3.block_count", GgufValue::U32(layers)),
            ("gemma3.embedding_length", GgufValue::U32(96)),
            ("gemma3.attention.head_count", GgufValue::U32(6)),
            ("gemma3.attention.key_length", GgufValue::U32(32)),
        ];
        CanonicalConfig::from_gguf(&Gguf::read(&write::gguf(&keys, &[])).unwrap()).unwrap()
    };
    assert_eq!(shown(&config(7), "query_pre_attn_scalar"), "32 (head_dim)");
    assert_eq!(shown(&config(62), "query_pre_attn_scalar"), "16 (hidden_size / num_attention_heads of 62 layers)");
    let (sliding, full) = ("sliding_attention", "full_attention");
    let layers = serde_json::json!([sliding, sliding, sliding, sliding, sliding, full, sliding]);
    assert_eq!(config(7).get("layer_types").unwrap().value, layers);
}

#[test]
fn gguf_head_widths() {
    let wide = |value| {
        let lengths =
            [("llama.attention.key_length", GgufValue::U32(32)), ("llama.attention.value_length", GgufValue::U32(value))];
        gguf(&lengths, &[])
    };
    assert_eq!(shown(&wide(32), "head_dim"), "32 (llama.attention.key_length)");
    assert_eq!(shown(&wide(32), "llama.attention.value_length"), "-");
    assert_eq!(shown(&wide(16), "llama.attention.value_length"), "16 (llama.attention.value_length)");
    let heads = |per_layer: Vec<u32>| gguf(&[("llama.attention.head_count_kv", GgufValue::Array(Array::U32(per_layer)))], &[]);
    assert_eq!(heads(vec![3, 3]).int("num_key_value_heads"), Some(3));
    assert_eq!(heads(vec![3, 6]).int("num_key_value_heads"), None);
}

#[test]
fn floats_that_json_lacks_keep_their_name() {
    let config = gguf(&[("llama.rope.freq_base", GgufValue::F32(f32::INFINITY))], &[]);
    assert_eq!(shown(&config, "rope_theta"), "\"inf\" (llama.rope.freq_base)");
}

#[test]
fn a_gguf_without_an_architecture_is_refused() {
    let file = Gguf::read(&write::gguf(&[], &[])).unwrap();
    let error = CanonicalConfig::from_gguf(&file).unwrap_err().to_string();
    assert_eq!(error, "`general.architecture` is missing or no text, and nothing else says which architecture this is");
}

#[test]
fn two_gguf_keys_of_one_meaning_are_refused() {
    let file = |metadata: &[(&str, GgufValue)]| Gguf::read(&write::gguf(metadata, &[])).unwrap();
    let keys = [
        ("general.architecture", GgufValue::String("llama".into())),
        ("hidden_size", GgufValue::U32(1)),
        ("llama.embedding_length", GgufValue::U32(2)),
    ];
    let error = CanonicalConfig::from_gguf(&file(&keys)).unwrap_err().to_string();
    assert_eq!(error, "`hidden_size` is 1 and `llama.embedding_length` is 2, and the two are one setting: remove one of them");
}

#[test]
fn values_in_messages_are_short() {
    let error = CanonicalConfig::from_hf(&json!({"text_config": "x".repeat(1_000_000)})).unwrap_err().to_string();
    let start = "\"".to_owned() + &"x".repeat(59);
    assert_eq!(error, format!("text_config is {start}..., and it must be an object"));
    assert_eq!(show(&json!([1, "\u{202e}"])), "[1,\"\\u{202e}\"]");
}

#[test]
fn lists_that_no_config_has_are_refused() {
    let read = |counts: &[usize]| {
        let mut keys = vec![("general.architecture", GgufValue::String("llama".into()))];
        for (key, &count) in ["llama.a", "llama.b"].iter().zip(counts) {
            keys.push((key, GgufValue::Array(Array::Array(vec![Array::U8(vec![0; count - 1])]))));
        }
        CanonicalConfig::from_gguf(&Gguf::read(&write::gguf(&keys, &[])).unwrap())
    };
    assert!(read(&[65_536]).is_ok() && read(&[32_768, 32_768]).is_ok());
    let expected = "`llama.b` is a list of 32769 values, and all lists outside of `tokenizer.` may have 65536 together";
    assert_eq!(read(&[32_768, 32_769]).unwrap_err().to_string(), expected);
}

#[test]
fn gemma3_stretches_the_layers_without_a_window() {
    let config = |sliding: &str| {
        let text = format!(
            r#"{{"model_type": "gemma3_text", "num_hidden_layers": 6, "rope_parameters": {{
                "full_attention": {{"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0}},
                "sliding_attention": {{"rope_type": "{sliding}", "rope_theta": 10000.0}}}}}}"#
        );
        CanonicalConfig::from_hf_text(text.as_bytes()).unwrap()
    };
    let stretched = config("default");
    assert_eq!((stretched.text("rope_type"), stretched.float("factor")), (Some("linear"), Some(8.0)));
    let bases = (stretched.float("rope_theta"), stretched.float("rope_local_base_freq"));
    assert_eq!(bases, (Some(1_000_000.0), Some(10_000.0)));
    assert!(stretched.get("rope_parameters.sliding_attention.rope_type").is_none());
    // A window that is stretched too is nothing that a spec can state, and so nothing that passes unseen.
    assert_eq!(config("linear").text("rope_parameters.sliding_attention.rope_type"), Some("linear"));
}
