//! config.json to canonical names.

use serde_json::{Map, Value};
use tenon_formats::expect::{ConfigContract, ConfigKey, Expected, compare};
use tenon_formats::json;
use tenon_formats::{CanonicalConfig, Origin};

use super::random::Random;
use super::{message, text, within, within_and};

const KEYS: [&str; 32] = [
    "full_attention",
    "sliding_attention",
    "rope_local_base_freq",
    "hidden_activation",
    "model_type",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "num_hidden_layers",
    "head_dim",
    "vocab_size",
    "rms_norm_eps",
    "rope_theta",
    "rope_parameters",
    "rope_scaling",
    "rope_type",
    "type",
    "factor",
    "partial_rotary_factor",
    "text_config",
    "vision_config",
    "torch_dtype",
    "dtype",
    "layer_types",
    "sliding_window",
    "use_sliding_window",
    "max_window_layers",
    "eos_token_id",
    "attention_bias",
    "tie_word_embeddings",
    "rope_parameters.factor",
    "a\\nb",
];
/// Keys that classes rename, spell out or take out.
const CLASS_KEYS: [&str; 26] = [
    "first_k_dense_replace",
    "moe_layer_freq",
    "mlp_layer_types",
    "mlp_only_layers",
    "decoder_sparse_step",
    "full_attention_interval",
    "hybrid_override_pattern",
    "layers_block_type",
    "layer_types",
    "num_hidden_layers",
    "n_shared_experts",
    "moe_intermediate_size",
    "num_experts",
    "n_group",
    "topk_method",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "head_dim",
    "num_key_value_heads",
    "partial_rotary_factor",
    "quantization_config",
    "rope_parameters",
    "num_nextn_predict_layers",
    "yarn",
    "moe",
    "llama_4_scaling",
];
/// Bytes of two lists of names, one for each layer, that a class spells out from a number.
const LISTS: usize = 256 * 1024;
const CLASSES: [&str; 10] = [
    "mistral4",
    "deepseek_v2",
    "deepseek_v3",
    "glm4_moe_lite",
    "minicpm3",
    "nemotron_h",
    "qwen3_moe",
    "qwen3_5_moe_text",
    "gpt_oss",
    "gemma2",
];
/// Two of these make one setting, or one of them hides another: what happens then has its own tests.
const FOLDED: [&str; 10] = [
    "hidden_activation",
    "rope_local_base_freq",
    "text_config",
    "rope_parameters",
    "rope_scaling",
    "torch_dtype",
    "dtype",
    "sliding_window",
    "max_window_layers",
    "type",
];

pub fn make(random: &mut Random) -> Vec<u8> {
    let other = random.one_in(3);
    let model_type = if other { random.pick(&CLASSES) } else { "llama" };
    let mut config = format!("{{\"model_type\":\"{model_type}\"");
    if random.one_in(2) {
        config.push_str(r#","hidden_size":64,"num_attention_heads":4,"num_hidden_layers":2"#);
    }
    for _ in 0..random.below(if other { 14 } else { 7 }) {
        let key = if other && !random.one_in(4) { random.pick(&CLASS_KEYS) } else { random.pick(&KEYS) };
        config.push_str(&format!(",\"{key}\":"));
        text::value(&mut config, random, &KEYS, 3);
    }
    config.push('}');
    config.into_bytes()
}

pub fn check(case: &[u8]) -> Result<(), String> {
    let parsed = within(160, case, || json::parse(case));
    let theirs = serde_json::from_slice::<Value>(case);
    match (&parsed, &theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs),
        (Ok(_), Err(e)) => panic!("we take it, and serde_json says: {e}"),
        (Err(e), Ok(_)) => assert!(e.to_string().contains("duplicate key"), "serde_json takes it, and we say: {e}"),
        (Err(_), Err(_)) => {}
    }
    let config = within_and(256, LISTS, case, || CanonicalConfig::from_hf_text(case)).map_err(|e| message(&e))?;
    look_at(&config);
    // Only numbers that JSON does not have may stand in a config and not in JSON.
    let words = ["Infinity", "NaN"];
    assert!(parsed.is_ok() || words.iter().any(|w| case.windows(w.len()).any(|at| at == w.as_bytes())), "it is no JSON");
    // Other classes take out what repeats and rename what they call otherwise.
    if let (Ok(parsed), "llama") = (parsed, config.model_type()) {
        nothing_is_lost(parsed.as_object().expect("and as an object"), &config);
    }
    let _ = CanonicalConfig::from_mistral(case).map(|config| look_at(&config));
    Ok(())
}

/// Every way of asking, on every key.
pub fn look_at(config: &CanonicalConfig) {
    const ASKED: ConfigContract = ConfigContract {
        keys: &[
            ConfigKey::new("model_type", Expected::Text("llama")),
            ConfigKey::new("hidden_size", Expected::Int(64)),
            ConfigKey::new("rope_theta", Expected::Float(1e4)),
            ConfigKey::new("attention_bias", Expected::Bool(false)),
            ConfigKey::new("layer_types", Expected::Each("full_attention", 2)),
            ConfigKey::new("sliding_window", Expected::Absent),
            ConfigKey::new("factor", Expected::AbsentOr(&Expected::Float(8.0))),
        ],
        ignored: &[],
    };
    for (key, value) in config.keys() {
        assert!(!value.value.is_null(), "null means not given, and {key} has it");
        let _ = (config.int(key), config.float(key), config.text(key), config.bool(key), config.token_ids(key));
    }
    assert_eq!(config.text("model_type"), Some(config.model_type()));
    for difference in compare(config, &ASKED) {
        let line = difference.to_string();
        assert!(line.len() < 2000 && !line.contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
    }
}

/// Each key that the file states is in the config, under its own name or another, with its value; unless an inner one hides it.
fn nothing_is_lost(root: &Map<String, Value>, config: &CanonicalConfig) {
    let tables = ["text_config", "rope_parameters", "rope_scaling"].map(|table| root.get(table).and_then(Value::as_object));
    let inner = |table: &str| root.get("text_config").and_then(|t| t.get(table)).and_then(Value::as_object);
    let tables = [tables[0], tables[1], tables[2], inner("rope_parameters"), inner("rope_scaling")];
    for (key, value) in root {
        let is_hidden = tables.iter().flatten().any(|table| table.contains_key(key) || table.contains_key("type"));
        if value.is_null() || is_hidden || FOLDED.contains(&key.as_str()) {
            continue;
        }
        let is_kept = |kept: &Value| kept == value || value.as_array().is_some_and(|items| items.iter().all(|item| item == kept));
        let mut kept = config.keys().filter(|(_, kept)| kept.origin == Origin::Stated(key.clone()));
        assert!(kept.any(|(_, kept)| is_kept(&kept.value)), "{key:?} is {value}, and that is lost");
    }
}
