//! The specs that are corrupted, each with its checkpoint.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tenon_compiler::check::checkpoint::{CheckpointFiles, expect, metadata};
use tenon_compiler::model::Model;
use tenon_compiler::new::Checkpoint;
use tenon_compiler::new::description::Format;
use tenon_compiler::source::{Source, SourceMap};
use tenon_compiler::{driver, new};
use tenon_formats::expect::tensors::{ExpertNames, ExpertsNeed, GatedExpertNames, Need, PlainExpertNames, in_expert, in_layer};
use tenon_formats::gguf::Value;
use tenon_formats::{CanonicalConfig, Gguf, StorageFormat, TensorEntry, TensorFormat};

use crate::verdict::Subject;

/// Every golden; a draft for every checkpoint that comes without a spec; the model whose weights are in the tree; and the two whose
/// checkpoint is a GGUF, which says less than a config.json.
///
/// # Panics
/// Where one of them is not good.
pub fn all() -> Vec<Subject> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this package stands in tests/");
    let read = |folder| driver::read(root, folder, "kernel-templates").expect("specs and templates can be read");
    let (goldens, specs) = (read("tests/golden"), read("model-specs"));
    let templates = driver::only(&goldens, &[]);
    let mut all = Vec::new();
    let mut add = |name: &str, text: &str, kernel: Option<&str>, checkpoint: &dyn Fn(&Model) -> CheckpointFiles| {
        let subject = Subject::new(name, text.to_owned(), kernel.map(str::to_owned), checkpoint, &templates);
        all.push(subject.unwrap_or_else(|e| panic!("{name}: {e}")));
    };
    let text =
        |sources: &SourceMap, path: &str| sources.files().find(|(_, file)| file.path == path).map(|(_, file)| file.text.clone());
    for name in driver::model_names(&goldens) {
        let folder = format!("tests/golden/{name}");
        let spec = text(&goldens, &format!("{folder}/MODEL.toml")).expect("it was listed");
        let kernel = TUNED.iter().find(|(tuned, _)| *tuned == name).map(|(_, kernel)| *kernel);
        add(&name, &spec, kernel, &|model| in_folder(&root.join(&folder), model));
    }
    for folder in folders(&root.join("tests/unseen")) {
        let name = format!("unseen-{}", folder.file_name().unwrap_or_default().to_string_lossy());
        let checkpoint = driver::checkpoint(&folder).unwrap_or_else(|e| panic!("{e}"));
        let draft = new::draft(&name, &checkpoint).unwrap_or_else(|refusals| panic!("{name}: {refusals:?}"));
        add(&name, &draft.text, None, &|model| in_folder(&folder, model));
    }
    let spec = |name: &str, file: &str| text(&specs, &format!("model-specs/{name}/{file}"));
    let bard = spec("bard-mla", "MODEL.toml").expect("its spec is in the tree");
    add("bard-mla", &bard, None, &|model| in_folder(&root.join("model-specs/bard-mla/weights"), model));
    for (name, keys) in GGUF {
        let model = spec(name, "MODEL.toml").expect("its spec is in the tree");
        add(name, &model, spec(name, "KERNEL.toml").as_deref(), &|model| gguf(keys, model));
    }
    all
}

/// KERNEL.toml for goldens that have none: of each kind of key, one.
const TUNED: [(&str, &str); 3] = [
    ("llama-gqa", "[cpu.linear]\ntile = 4\n\n[cpu.attention]\ntile_q = 8\n"),
    ("deepseek-v3-mla-moe", "[cpu.mla]\nprefill = \"absorbed\"\ndecode = \"expanded\"\n"),
    ("qwen3-next-gdn", "[cpu.delta_prefill]\nchunk = 32\n"),
];

/// What the metadata of the GGUFs say for which these specs are written; all of them are small numbers.
const GGUF: [(&str, &[(&str, f32)]); 2] = [
    (
        "gemma-3-270m",
        &[
            ("gemma3.context_length", 32_768.0),
            ("gemma3.embedding_length", 640.0),
            ("gemma3.block_count", 18.0),
            ("gemma3.feed_forward_length", 2048.0),
            ("gemma3.attention.head_count", 4.0),
            ("gemma3.attention.head_count_kv", 1.0),
            ("gemma3.attention.key_length", 256.0),
            ("gemma3.attention.value_length", 256.0),
            ("gemma3.attention.layer_norm_rms_epsilon", 1e-6),
            ("gemma3.rope.freq_base", 1_000_000.0),
            ("gemma3.attention.sliding_window", 512.0),
            ("gemma3.vocab_size", 262_144.0),
        ],
    ),
    (
        "smollm2-135m-instruct",
        &[
            ("llama.context_length", 8192.0),
            ("llama.embedding_length", 576.0),
            ("llama.block_count", 30.0),
            ("llama.feed_forward_length", 1536.0),
            ("llama.attention.head_count", 9.0),
            ("llama.attention.head_count_kv", 3.0),
            ("llama.attention.layer_norm_rms_epsilon", 1e-5),
            ("llama.rope.freq_base", 100_000.0),
            ("llama.rope.dimension_count", 64.0),
            ("llama.vocab_size", 49_152.0),
        ],
    ),
];

/// A checkpoint in the tree. Where the weights are elsewhere, its tensors are those of the good spec.
fn in_folder(folder: &Path, model: &Model) -> CheckpointFiles {
    let mut files = driver::checkpoint_files(folder, None).unwrap_or_else(|e| panic!("{e}"));
    files.tensors.get_or_insert_with(|| tensors(model));
    files
}

fn gguf(keys: &[(&str, f32)], model: &Model) -> CheckpointFiles {
    let key = |(key, number): &(&str, f32)| {
        let is_float = key.ends_with("freq_base") || key.ends_with("epsilon");
        ((*key).to_owned(), if is_float { Value::F32(*number) } else { Value::U32(*number as u32) })
    };
    let mut said: BTreeMap<String, Value> = keys.iter().map(key).collect();
    said.insert("general.architecture".to_owned(), Value::String(model.checkpoint.model_type.clone()));
    let header = Gguf { version: 3, metadata: said, tensors: tensors(model) };
    let config = CanonicalConfig::from_gguf(&header).unwrap_or_else(|e| panic!("{e}"));
    let source = Source { path: "model.gguf".to_owned(), text: metadata(&config) };
    let checkpoint = Checkpoint { format: Format::Gguf, config, tensors: None, template: None, generation: None };
    CheckpointFiles { checkpoint, config: source, tensors: Some(header.tensors) }
}

/// The tensors that a model needs, all in f32.
fn tensors(model: &Model) -> Vec<TensorEntry> {
    let mut all = Vec::new();
    let mut add = |name: String, shape: &[usize]| {
        let format = TensorFormat::Known(StorageFormat::F32);
        all.push(TensorEntry { name, shape: shape.to_vec(), format, file: 0, range: 0..0 });
    };
    expect::with_checks(model, |checks| {
        for check in checks {
            let layers = check.layers.map_or(vec![None], |layers| layers.iter().copied().map(Some).collect());
            for layer in layers {
                let in_layer = |name: &str| layer.map_or(name.to_owned(), |layer| in_layer(name, layer));
                match &check.need {
                    Need::Nothing => {}
                    Need::Experts(need) => experts(need, |name, expert, shape| add(in_expert(&in_layer(name), expert), shape)),
                    need => add(in_layer(check.name), need.shape()),
                }
            }
        }
    });
    all.sort_by(|a, b| a.name.cmp(&b.name));
    // Rows of one tensor may go to several weights.
    all.dedup_by(|a, b| a.name == b.name);
    all
}

fn experts(need: &ExpertsNeed<'_>, mut add: impl FnMut(&str, Option<usize>, &[usize])) {
    let ExpertsNeed { experts, hidden, inner, names, .. } = *need;
    let (up, down) = ([inner, hidden], [hidden, inner]);
    let each: &[(&str, [usize; 2])] = match &names {
        ExpertNames::Gated(GatedExpertNames::Each { gate, up: of_up, down: of_down }) => {
            &[(gate, up), (of_up, up), (of_down, down)]
        }
        ExpertNames::Plain(PlainExpertNames::Each { up: of_up, down: of_down }) => &[(of_up, up), (of_down, down)],
        ExpertNames::Gated(GatedExpertNames::Stacked { gate_up, down }) => {
            add(gate_up, None, &[experts, 2 * inner, hidden]);
            return add(down, None, &[experts, hidden, inner]);
        }
        other => panic!("every golden with {other:?} has its weights in the tree"),
    };
    for expert in 0..experts {
        each.iter().for_each(|(name, shape)| add(name, Some(expert), shape));
    }
}

/// Folders that hold a checkpoint, in order.
fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).unwrap_or_else(|e| panic!("{}: {e}", of.display()));
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    folders.retain(|folder| folder.join("config.json").exists());
    folders.sort();
    folders
}
