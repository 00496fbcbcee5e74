//! A served model, for tests that only read requests.

use serde_json::json;
use tenon_core::model::SamplingDefaults;
use tenon_engine::Tokenizer;

use super::Served;

/// A model `m` with two tokens and no chat format.
pub(super) fn served() -> Served {
    let dir = tempfile::tempdir().unwrap();
    let file = json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "post_processor": null, "added_tokens": [],
        "pre_tokenizer": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []},
    });
    std::fs::write(dir.path().join("tokenizer.json"), file.to_string()).unwrap();
    std::fs::write(dir.path().join("tokenizer_config.json"), json!({"eos_token": "a"}).to_string()).unwrap();
    let tokenizer = Tokenizer::from_dir(dir.path()).unwrap();
    let sampling = SamplingDefaults { temperature: 0.0, top_p: 1.0, top_k: 0 };
    Served { name: "m".into(), tokenizer, template: None, context: 64, sampling }
}
