//! Comparisons that agree, and the sentence of each that does not.

use serde_json::json;

use super::*;

const KEYS: &[ConfigKey] = &[
    ConfigKey::new("model_type", Expected::Text("llama")),
    ConfigKey::new("hidden_size", Expected::Int(96)),
    ConfigKey::new("rms_norm_eps", Expected::Float(1e-5)),
    ConfigKey::new("tie_word_embeddings", Expected::Bool(true)),
    ConfigKey::new("sliding_window", Expected::Absent),
];
const CONTRACT: ConfigContract =
    ConfigContract { keys: KEYS, ignored: &[IgnoredKey::new("is_llama_config", "a leftover of training")] };

/// The differences of a fitting config with `changes` over it.
fn differences(changes: Value) -> Vec<String> {
    let mut root = json!({"model_type": "llama", "hidden_size": 96, "rms_norm_eps": 1e-5, "tie_word_embeddings": true});
    for (key, value) in changes.as_object().unwrap() {
        root[key] = value.clone();
    }
    let config = CanonicalConfig::from_hf(&root).unwrap();
    compare(&config, &CONTRACT).iter().map(ToString::to_string).collect()
}

#[test]
fn what_fits_has_no_differences() {
    let none: [&str; 0] = [];
    assert_eq!(differences(json!({})), none);
    assert_eq!(differences(json!({"hidden_size": 96.0, "rms_norm_eps": 1.0000000001e-5})), none);
    assert_eq!(differences(json!({"sliding_window": null, "is_llama_config": true})), none);
    assert_eq!(differences(json!({"use_cache": true, "eos_token_id": [1, 2], "torch_dtype": "float16"})), none);
    assert_eq!(differences(json!({"_attn_implementation_autoset": true})), none);
}

#[test]
fn both_values_are_named() {
    assert_eq!(differences(json!({"hidden_size": 128})), ["hidden_size: the spec says 96, the checkpoint has 128"]);
    assert_eq!(
        differences(json!({"text_config": {"rms_norm_eps": 1e-6}})),
        ["rms_norm_eps: the spec says 0.00001, the checkpoint has 1e-6 (text_config.rms_norm_eps)"]
    );
    assert_eq!(
        differences(json!({"tie_word_embeddings": "yes"})),
        ["tie_word_embeddings: the spec says true, the checkpoint has \"yes\""]
    );
    assert_eq!(
        differences(json!({"sliding_window": 4096})),
        ["sliding_window: the spec says nothing (null or not given), the checkpoint has 4096"]
    );
    assert_eq!(
        differences(json!({"tie_word_embeddings": null})),
        ["tie_word_embeddings: the spec says true, the checkpoint does not say"]
    );
}

#[test]
fn integers_do_not_wrap_or_round() {
    for wrong in [json!(-96), json!(96.5), json!(18446744073709551615u64), json!(1e300), json!("96")] {
        assert_eq!(differences(json!({"hidden_size": wrong})).len(), 1, "{wrong}");
    }
}

#[test]
fn defaults_are_named_as_such() {
    let root = json!({"model_type": "llama", "hidden_size": 96, "rms_norm_eps": 1e-5});
    let config = CanonicalConfig::from_hf(&root).unwrap();
    let lines: Vec<_> = compare(&config, &CONTRACT).iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["tie_word_embeddings: the spec says true, the checkpoint has false (default of llama)"]);
}

#[test]
fn keys_that_nobody_mentions_are_refused() {
    assert_eq!(
        differences(json!({"attn_logit_softcapping": 50.0, "rope_scaling": {"type": "yarn"}})),
        [
            "attn_logit_softcapping: the checkpoint has 50.0, the spec neither states nor ignores it",
            "rope_scaling.type: the checkpoint has \"yarn\", the spec neither states nor ignores it",
        ]
    );
    let long = differences(json!({"list": vec![0; 100]}));
    assert!(long[0].len() < 160 && long[0].contains("0,0,0..."), "{long:?}");
}

#[test]
fn lists_and_optional_values() {
    const KEYS: &[ConfigKey] = &[
        ConfigKey::new("layer_types", Expected::AbsentOr(&Expected::Each("full_attention", 2))),
        ConfigKey::new("use_sliding_window", Expected::AbsentOr(&Expected::Bool(false))),
    ];
    const CONTRACT: ConfigContract =
        ConfigContract { keys: KEYS, ignored: &[IgnoredKey::new("model_type", ""), IgnoredKey::new("num_hidden_layers", "")] };
    let lines = |layers: u64, layer_types: Value, window: Value| -> Vec<String> {
        let root = json!({
            "model_type": "other", "num_hidden_layers": layers, "layer_types": layer_types, "use_sliding_window": window,
        });
        compare(&CanonicalConfig::from_hf(&root).unwrap(), &CONTRACT).iter().map(ToString::to_string).collect()
    };
    let (full, none): (_, [&str; 0]) = ("full_attention", []);
    assert_eq!(lines(2, json!(null), json!(null)), none);
    assert_eq!(lines(2, json!([full, full]), json!(false)), none);
    // Two entries for three layers are not folded, and are what the spec says; the layer count is a key of its own.
    assert_eq!(lines(3, json!([full, full]), json!(null)), none);
    let expected = "the spec says \"full_attention\" for each of 2 layers or nothing, the checkpoint has";
    assert_eq!(lines(2, json!([full]), json!(null)), [format!("layer_types: {expected} [\"full_attention\"]")]);
    assert_eq!(lines(2, json!(["x", "x"]), json!(null)), [format!("layer_types: {expected} \"x\"")]);
    assert_eq!(
        lines(2, json!(null), json!(true)),
        ["use_sliding_window: the spec says false or nothing, the checkpoint has true"]
    );
}

#[test]
fn a_deviation_departs_from_something() {
    const THETA: ConfigKey<'_> = ConfigKey::new("rope_theta", Expected::Not(&Expected::Float(5e5), "rope_theta"));
    const YARN: [ConfigKey<'_>; 2] = [
        ConfigKey::new("rope_type", Expected::Not(&Expected::Text("yarn"), "rope_type")),
        ConfigKey::new("factor", Expected::Not(&Expected::Float(4.0), "rope_type")),
    ];
    let differences = |keys: &[ConfigKey<'_>], rope: Value| {
        let root = json!({"model_type": "qwen2", "use_cache": true, "rope_parameters": rope});
        let contract = ConfigContract { keys, ignored: &[] };
        let found = compare(&CanonicalConfig::from_hf(&root).unwrap(), &contract);
        found.iter().map(ToString::to_string).filter(|text| !text.starts_with("model_type")).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(differences(&[THETA], json!({"rope_theta": 10000.0})), none);
    assert_eq!(differences(&[THETA], json!({})), none, "a default can be departed from");
    let agree = ["[deviation] rope_theta: the checkpoint has what the spec says, 500000.0"];
    assert_eq!(differences(&[THETA], json!({"rope_theta": 500000})), agree);
    // What one deviation is about may agree in part.
    assert_eq!(differences(&YARN, json!({"rope_type": "yarn", "factor": 2.0})), none);
    let agree = ["[deviation] rope_type: the checkpoint has what the spec says"];
    assert_eq!(differences(&YARN, json!({"rope_type": "yarn", "factor": 4.0})), agree);
}
