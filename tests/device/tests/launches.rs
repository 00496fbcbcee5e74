//! What the steps of the proof of launches must launch can be derived for every golden, without a device.

use std::path::{Path, PathBuf};

use tenon_compiler::driver;
use tenon_compiler::launches::{Deployment, Launches, launches};
use tenon_compiler::model::{Model, Target};
use tenon_compiler::programs;
use tenon_core::weights::Checkpoint;
use tenon_device_tests::goldens::CASES;
use tenon_device_tests::launches::steps::{LARGEST_BUCKET, SEQUENCES, all};
use tenon_device_tests::launches::stored::stored;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The goldens, for GPUs too.
fn goldens() -> Vec<Model> {
    let mut sources = driver::read(&root(), "tests/golden", "kernel-templates").unwrap();
    let specs: Vec<(String, String)> = sources
        .files()
        .filter(|(_, file)| CASES.iter().any(|case| file.path == format!("tests/golden/{case}/MODEL.toml")))
        .map(|(_, file)| (file.path.clone(), file.text.replacen("targets = [\"cpu\"]", "targets = [\"cpu\", \"sm_90a\"]", 1)))
        .collect();
    assert_eq!(specs.len(), CASES.len());
    for (path, text) in specs {
        sources.replace(&path, text);
    }
    let models = tenon_compiler::models(&sources).unwrap_or_else(|found| panic!("{:?}", found.sorted()));
    models.into_iter().filter(|model| CASES.contains(&model.name.as_str())).collect()
}

/// Each step of the list with what it launches.
fn derived(model: &Model) -> Vec<(String, Launches)> {
    let programs = programs(model);
    let program = programs.iter().find(|program| program.target == Target::Sm90a).unwrap();
    let checkpoint = Checkpoint::open(root().join("tests/golden").join(&model.name)).unwrap();
    let format = |role, layer| stored(program, &checkpoint, role, layer);
    let deployment = Deployment { kv_dtype: "bf16", largest_bucket: LARGEST_BUCKET, format: &format };
    let mut done = [0; SEQUENCES];
    let steps = all().into_iter().map(|planned| {
        let step = planned.step(&done);
        planned.spans.iter().for_each(|&(sequence, tokens)| done[sequence] += tokens);
        let launches = launches(program, &deployment, &step).unwrap_or_else(|e| panic!("{}: {}: {e}", model.name, planned.name));
        (planned.name, launches)
    });
    steps.collect()
}

#[test]
fn every_step_of_every_golden_has_an_expectation() {
    let models = goldens();
    for model in &models {
        for (step, launches) in derived(model) {
            // Fewer are no step: every layer has its norms, its products and what mixes tokens.
            let fewest = 4 * model.pattern.len() as u64;
            assert!(launches.total() >= fewest, "{}: {step}: {launches:?}", model.name);
        }
    }
    // Of every family some kernel that only it has is among what must be counted.
    for (case, kernel) in [
        ("llama-gqa", "attention_decode_"),
        ("gemma2-softcap", "soft_cap"),
        ("gemma3-sliding", "rms_norm_add_norm_"),
        ("deepseek-v3-mla-moe", "mla_prefill_expanded_"),
        ("minicpm3-mla", "mla_decode_"),
        ("mistral4-mla-moe", "query_scale"),
        ("gpt-oss-sinks", "experts_up_many_bf16_clamped_"),
        ("qwen3-moe", "expert_tiles_"),
        ("nemotron-h-mamba2", "mamba2_scan_"),
        ("qwen3-next-gdn", "delta_prefill_"),
        ("qwen3.5-moe-gdn", "sigmoid_gate_add"),
    ] {
        let model = models.iter().find(|model| model.name == case).unwrap();
        let has = derived(model).iter().any(|(_, launches)| launches.kernels.keys().any(|name| name.starts_with(kernel)));
        assert!(has, "{case} has no step with {kernel}");
    }
}

#[test]
fn a_small_model_by_hand() {
    let models = goldens();
    let model = models.iter().find(|model| model.name == "qwen3-moe").unwrap();
    let layers = model.pattern.len() as u64;
    let derived = derived(model);
    let of = |step: &str, kernel: &str| {
        let (_, launches) = derived.iter().find(|(name, _)| name == step).unwrap_or_else(|| panic!("no step {step}"));
        launches.kernels.iter().filter(|(name, _)| name.starts_with(kernel)).map(|(_, times)| times).sum::<u64>()
    };
    // Forty rows: products are the library's, experts go by tiles, and one row has logits.
    let prompt = "a prompt of 40 tokens";
    assert_eq!((of(prompt, "linear_"), of(prompt, "linear_bf16_r1")), (1, 1));
    assert_eq!((of(prompt, "expert_tiles"), of(prompt, "experts_up_many"), of(prompt, "experts_up_few")), (layers, layers, 0));
    assert_eq!((of(prompt, "attention_prefill"), of(prompt, "attention_decode")), (layers, 0));
    // Three sequences in a bucket of four: q, k, v, o and the router of each layer, and the head.
    let decode = "single tokens of 3, turn 5";
    assert_eq!((of(decode, "linear_bf16_r4"), of(decode, "linear_")), (5 * layers + 1, 5 * layers + 1));
    assert_eq!((of(decode, "experts_up_few"), of(decode, "expert_tiles")), (layers, 0));
    assert_eq!((of(decode, "attention_prefill"), of(decode, "attention_decode")), (0, layers));
    assert_eq!(
        (of(decode, "embedding"), of(decode, "argmax"), of("single tokens of 2, most likely, turn 1", "argmax")),
        (1, 0, 1)
    );
}
