//! The specs under model-specs/: their sizes are those of the published models, and each refuses what it is not for.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use tenon_core::dtype::KvDtypeName;
use tenon_core::model::ModelEntry;
use tenon_core::weights::Checkpoint;
use tenon_tests::reference::folder;
use tenon_tests::run::smallest;

/// Parameters as transformers counts them: embeddings included, a tied head once, the routers' correction biases not.
const PARAMETERS: [(&str, u64); 12] = [
    ("bard-mla", 2_674_560),
    ("deepseek-v3", 671_026_404_352),
    ("gemma-3-270m", 268_098_176),
    ("gpt-oss-20b", 20_914_757_184),
    ("llama-3.1-8b", 8_030_261_248),
    ("mistral-small-4", 118_972_826_624),
    ("mistral-small-4-nvfp4", 118_972_826_624),
    ("nemotron-3-super-120b-a12b", 120_668_687_360),
    ("qwen3-0.6b", 596_049_920),
    ("qwen3-8b", 8_190_735_360),
    ("qwen3.5-122b-a10b", 122_111_526_912),
    ("smollm2-135m-instruct", 134_515_008),
];

fn entry(name: &str) -> &'static ModelEntry {
    tenon_models::MODELS.iter().find(|m| m.info.name == name).unwrap_or_else(|| panic!("{name} is compiled in"))
}

#[test]
fn parameter_counts_are_those_of_the_published_models() {
    let found: Vec<(&str, u64)> = tenon_models::MODELS.iter().map(|m| (m.info.name, m.info.parameters)).collect();
    assert_eq!(found, PARAMETERS);
}

#[test]
fn a_plan_states_its_state_with_the_formula() {
    let info = entry("qwen3.5-122b-a10b").info;
    let window_and_state = 3 * 12_288 + 64 * 128 * 128;
    assert_eq!(info.state_bytes_per_slot, 36 * 4 * window_and_state);
    let plan = entry("qwen3.5-122b-a10b").plan;
    for line in ["36 layers x 4 x (3 x 12,288 + 64 x 128 x 128) = 156,303,360", "1192.5 MiB  for 8 sequences"] {
        assert!(plan.contains(line), "{line} is not in\n{plan}");
    }
    assert_eq!(entry("llama-3.1-8b").info.state_bytes_per_slot, 0);
}

fn refusal(name: &str, checkpoint: &Path) -> String {
    let options = smallest(KvDtypeName::Bf16);
    let checkpoint = Arc::new(Checkpoint::open(checkpoint).unwrap_or_else(|e| panic!("{e}")));
    let load = entry(name).cpu.expect("the spec lists the target cpu");
    load(&checkpoint, &options).map(drop).expect_err("it is another model's checkpoint").to_string()
}

/// Mistral Small 4 in its own format: the names that matter here, and one tensor.
fn native(dir: &Path, apply_scale: bool) -> io::Result<()> {
    let params = format!(
        r#"{{"dim": 4096, "n_layers": 36, "n_heads": 32, "norm_eps": 1e-6, "vocab_size": 131072, "q_lora_rank": 1024,
            "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "v_head_dim": 128, "rope_theta": 10000.0,
            "yarn": {{"original_max_position_embeddings": 8192, "factor": 128, "apply_scale": {apply_scale}, "beta": 32, "alpha": 1}},
            "moe": {{"num_experts": 128, "num_experts_per_tok": 4, "expert_hidden_dim": 2048, "num_shared_experts": 1}}}}"#
    );
    fs::write(dir.join("params.json"), params)?;
    fs::copy(folder("mistral4-mla-moe").join("model.safetensors"), dir.join("consolidated.safetensors")).map(drop)
}

/// The two formats of Mistral Small 4 ask for two softmax scales: neither spec may take the other's checkpoint.
#[test]
fn the_two_formats_of_one_model_refuse_each_other() {
    let dir = tempfile::tempdir().unwrap();
    native(dir.path(), false).unwrap();
    let of_hf = refusal("mistral-small-4", dir.path());
    assert!(of_hf.starts_with("the spec is for an hf checkpoint and "), "{of_hf}");
    let of_native = refusal("mistral-small-4-nvfp4", &folder("mistral4-mla-moe"));
    assert!(of_native.starts_with("the spec is for a mistral checkpoint and "), "{of_native}");
}

#[test]
fn a_native_checkpoint_that_applies_the_scale_is_another_model() {
    let dir = tempfile::tempdir().unwrap();
    native(dir.path(), true).unwrap();
    let text = refusal("mistral-small-4-nvfp4", dir.path());
    assert!(text.contains("apply_scale"), "{text}");
}
