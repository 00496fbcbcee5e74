//! The config of every golden is what its spec says, and nothing in it can change unseen: the contract of each spec is compared
//! with the config as it is, and with every key of it changed.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tenon_compiler::model::Model;
use tenon_formats::config::unread;
use tenon_formats::expect::{NEVER_CHANGES_OUTPUT, compare};
use tenon_formats::{CanonicalConfig, ConfigContract};
use tenon_tests::contract::contract;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// Every golden whose checkpoint has a config.json, with the spec's contract and the text.
fn goldens() -> Vec<(Model, ConfigContract, Value)> {
    let sources = tenon_compiler::driver::read(root(), "tests/golden", "kernel-templates").expect("the specs are there");
    let models = tenon_compiler::models(&sources).unwrap_or_else(|e| panic!("{}", e.render(&sources, Default::default(), false)));
    let with_config = models.into_iter().filter_map(|model| {
        let text = fs::read(root().join("tests/golden").join(&model.name).join("config.json")).ok()?;
        let config = serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", model.name));
        Some((contract(&model), model, config))
    });
    with_config.map(|(contract, model, config)| (model, contract, config)).collect()
}

#[test]
fn every_golden_has_the_config_of_its_spec() {
    let goldens = goldens();
    assert!(goldens.len() >= 14, "{} goldens", goldens.len());
    for (model, contract, config) in goldens {
        let config = CanonicalConfig::from_hf(&config).unwrap_or_else(|e| panic!("{}: {e}", model.name));
        let differences: Vec<String> = compare(&config, &contract).iter().map(ToString::to_string).collect();
        assert!(differences.is_empty(), "{}: {differences:#?}", model.name);
    }
}

#[test]
fn no_key_of_a_config_changes_unseen() {
    for (model, contract, config) in goldens() {
        let mut unseen = Vec::new();
        let mut seen = 0;
        each_change(&config, &mut Vec::new(), &mut |path, value| {
            let mut changed = config.clone();
            let place = path.iter().fold(&mut changed, |at, key| at.get_mut(*key).expect("a path of this config"));
            *place = value;
            let found = CanonicalConfig::from_hf(&changed).is_err()
                || CanonicalConfig::from_hf(&changed).is_ok_and(|config| !compare(&config, &contract).is_empty());
            if found {
                seen += 1;
            } else if !is_free(&model, &contract, path) {
                unseen.push(path.join("."));
            }
        });
        assert!(unseen.is_empty() && seen > 10, "{}: {unseen:?} may say anything ({seen} may not)", model.name);
    }
}

/// Keys that may say anything: those that are ignored with a reason, and those that others make meaningless.
fn is_free(model: &Model, contract: &ConfigContract, path: &[&str]) -> bool {
    let (name, model_type) = (path.last().copied().unwrap_or_default(), model.checkpoint.model_type.as_str());
    let ignored = contract.ignored.iter().chain(NEVER_CHANGES_OUTPUT).chain(unread(model_type));
    if ignored.into_iter().any(|key| key.covers(name)) {
        return true;
    }
    match name {
        // Of dense layers, of which there are none.
        "intermediate_size" => !contract.keys.iter().any(|key| key.key == name),
        // The table of rotary settings says it too, and wins.
        "partial_rotary_factor" => path.len() == 1,
        // use_sliding_window is false.
        "sliding_window" => model_type.starts_with("qwen3"),
        // There are no layers for speculation.
        "mtp_layers_block_type" => true,
        _ => false,
    }
}

/// Another value for every leaf.
fn each_change<'c>(at: &'c Value, path: &mut Vec<&'c str>, change: &mut dyn FnMut(&[&str], Value)) {
    for (key, value) in at.as_object().expect("an object") {
        path.push(key);
        match value {
            Value::Object(_) => each_change(value, path, change),
            Value::Bool(value) => change(path, Value::from(!value)),
            Value::Number(number) => match number.as_u64() {
                Some(whole) => change(path, Value::from(whole + 1)),
                None => change(path, Value::from(number.as_f64().unwrap_or_default() * 1.5 + 0.25)),
            },
            Value::String(_) => change(path, Value::from("other")),
            Value::Array(_) => change(path, Value::from(vec!["other"])),
            Value::Null => change(path, Value::from(7)),
        }
        path.pop();
    }
}
