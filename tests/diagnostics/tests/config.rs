//! The config of every golden is what its spec says, and no key of it, nested ones too, changes unseen: each is dropped, made null,
//! changed and given another type, and then there is a diagnostic that points into the config, or a reason why there need be none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tenon_compiler::check::checkpoint::{self, CheckpointFiles, expect};
use tenon_compiler::diagnostic::{Diagnostics, Format, Id};
use tenon_compiler::model::Model;
use tenon_compiler::new::{self, Checkpoint};
use tenon_compiler::source::{Source, SourceMap};
use tenon_compiler::spec::ModelSpec;
use tenon_diagnostics::case::Files;
use tenon_formats::expect::ignored;
use tenon_formats::{CanonicalConfig, Gguf, gguf, write};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace").to_path_buf()
}

/// A golden whose checkpoint has a config.json.
struct Golden {
    sources: SourceMap,
    spec: ModelSpec,
    model: Model,
    config: Value,
}

impl Golden {
    fn all() -> Vec<Self> {
        let sources = tenon_compiler::driver::read(&root(), "tests/golden", "kernel-templates").expect("the specs are there");
        let names = tenon_compiler::driver::model_names(&sources);
        let with_config = names.iter().filter(|name| config_of(name).is_file());
        let found: Vec<Self> = with_config.map(|name| Self::of(&sources, name, "")).collect();
        assert!(found.len() >= 15, "{} goldens", found.len());
        found
    }

    /// With more text at the end of its spec.
    fn of(sources: &SourceMap, name: &str, more: &str) -> Self {
        let mut own = SourceMap::default();
        for (_, file) in tenon_compiler::driver::only(sources, &[name.to_owned()]).files() {
            let more = if file.path.ends_with("/MODEL.toml") { more } else { "" };
            own.add(file.path.clone(), format!("{}{more}", file.text));
        }
        let mut diags = Diagnostics::default();
        let mut specs = tenon_compiler::parse::parse(&own, &mut diags);
        let model = tenon_compiler::check::check(&specs, &own, &mut diags).pop();
        assert!(!diags.has_errors(), "{name}: {}", diags.render(&own, Format::Human, false));
        let (spec, _) = specs.models.remove(name).expect("it was read");
        let config = fs::read(config_of(name)).expect("it is a file");
        let config = serde_json::from_slice(&config).unwrap_or_else(|e| panic!("{name}: {e}"));
        Self { sources: own, spec, model: model.expect("it has no error"), config }
    }

    /// What a checkpoint with this config is told, with the sources; an error of the reader says it too.
    fn compared(&self, config: &Value) -> Result<(Diagnostics, SourceMap), String> {
        let text = serde_json::to_string_pretty(config).expect("JSON");
        let canonical = CanonicalConfig::from_hf_text(text.as_bytes()).map_err(|e| e.to_string())?;
        let format = new::description::Format::Hf;
        let checkpoint = Checkpoint { format, config: canonical, tensors: None, has_chat_template: false, generation: None };
        let source = Source { path: "checkpoint/config.json".to_owned(), text };
        let files = CheckpointFiles { checkpoint, config: source.clone(), tensors: None };
        let mut sources = self.sources.clone();
        let file = sources.add(source.path, source.text);
        let mut diags = Diagnostics::default();
        checkpoint::check(&self.spec, &self.model, &files, file, &sources, &mut diags);
        for diagnostic in diags.sorted() {
            let in_config = diagnostic.labels.iter().any(|label| label.span.file == file);
            let in_spec = diagnostic.labels.iter().any(|label| label.span.file == self.spec.file);
            let text = || diags.render(&sources, Format::Human, false);
            assert!(in_config && in_spec && !diagnostic.helps.is_empty(), "two places and a way out\n{}", text());
        }
        Ok((diags, sources))
    }

    /// Whether a config says nothing that another does not say too, apart from what was compared and what may say anything.
    fn says_no_more(&self, config: &Value, other: &BTreeMap<String, Value>) -> bool {
        let is_bound = |key: &String| self.model.config.keys.iter().any(|(bound, _)| bound == key);
        let is_known =
            |(key, value): (&String, &Value)| other.get(key) == Some(value) || is_bound(key) || self.reason(&[key]).is_some();
        meaning(config).is_some_and(|said| said.iter().all(is_known))
    }

    /// Why a key may say anything.
    fn reason(&self, path: &[&str]) -> Option<String> {
        let (name, whole) = (path.last().copied().unwrap_or_default(), path.join("."));
        let model_type = self.model.checkpoint.model_type.as_str();
        let reason =
            expect::with_contract(&self.model.config, |contract| ignored(contract, model_type, name, &whole).map(str::to_owned));
        let of_reader = || match name {
            "intermediate_size" if !self.model.config.keys.iter().any(|(key, _)| key == name) => {
                Some("of dense layers, of which there are none")
            }
            "partial_rotary_factor" if path.len() == 1 => Some("the table of rotary settings says it too, and wins"),
            "sliding_window" if model_type.starts_with("qwen3") => Some("use_sliding_window is false"),
            "mtp_layers_block_type" => Some("there are no layers for speculation"),
            _ => None,
        };
        reason.or_else(|| of_reader().map(str::to_owned))
    }
}

fn config_of(name: &str) -> PathBuf {
    root().join("tests/golden").join(name).join("config.json")
}

/// Values by canonical name, wherever they come from.
fn meaning(config: &Value) -> Option<BTreeMap<String, Value>> {
    let canonical = CanonicalConfig::from_hf(config).ok()?;
    Some(canonical.keys().map(|(key, value)| (key.to_owned(), value.value.clone())).collect())
}

#[test]
fn every_golden_has_the_config_of_its_spec() {
    for golden in Golden::all() {
        let (diags, sources) = golden.compared(&golden.config).expect("it is read");
        assert!(!diags.has_errors(), "{}", diags.render(&sources, Format::Human, false));
    }
}

#[test]
fn no_key_of_a_config_changes_unseen() {
    let (mut refused, mut ignored, mut same) = (0, 0, 0);
    for golden in Golden::all() {
        let name = &golden.model.name;
        let before = meaning(&golden.config).expect("it is read");
        let mut unseen = Vec::new();
        each_change(&golden.config, &mut |path, what, changed| {
            let found = golden.compared(&changed);
            if found.is_err() || found.is_ok_and(|(diags, _)| diags.has_errors()) {
                refused += 1;
            } else if golden.reason(path).is_some() {
                ignored += 1;
            } else if matches!(what, Change::Dropped | Change::Null) && golden.says_no_more(&changed, &before) {
                // The class has the same value where a file says nothing, or no layer has a use for it.
                same += 1;
            } else {
                unseen.push(format!("{} {what:?}", path.join(".")));
            }
        });
        assert!(unseen.is_empty(), "{name}: nobody sees {unseen:#?}");
    }
    println!("{refused} changes were refused, {ignored} were of ignored keys, {same} left what the config means as it was");
    assert!(refused > 1000 && ignored > 500 && same > 50, "{refused} {ignored} {same}");
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Dropped,
    Null,
    Changed,
    OfAnotherType,
}

/// Every change of every key, with the path.
fn each_change(config: &Value, look: &mut dyn FnMut(&[&str], Change, Value)) {
    let mut paths = Vec::new();
    leaves(config, &mut Vec::new(), &mut paths);
    for (path, value) in paths {
        let (last, table) = path.split_last().expect("a path has a key");
        let mut change = |what, value: Option<Value>| {
            let mut changed = config.clone();
            let table = table.iter().fold(&mut changed, |at, key| at.get_mut(*key).expect("a path of this config"));
            let table = table.as_object_mut().expect("keys stand in objects");
            match value {
                Some(value) => table.insert((*last).to_owned(), value),
                None => table.remove(*last),
            };
            look(&path, what, changed);
        };
        change(Change::Dropped, None);
        if value.is_null() {
            change(Change::Changed, Some(Value::from(7)));
            continue;
        }
        change(Change::Null, Some(Value::Null));
        change(Change::OfAnotherType, Some(if value.is_string() { Value::from(7) } else { Value::from("other") }));
        change(Change::Changed, Some(another(value)));
    }
}

fn leaves<'c>(at: &'c Value, path: &mut Vec<&'c str>, found: &mut Vec<(Vec<&'c str>, &'c Value)>) {
    for (key, value) in at.as_object().expect("an object") {
        path.push(key);
        match value {
            Value::Object(_) => leaves(value, path, found),
            leaf => found.push((path.clone(), leaf)),
        }
        path.pop();
    }
}

fn another(value: &Value) -> Value {
    match value {
        Value::Bool(value) => Value::from(!value),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => Value::from(whole + 1),
            None => Value::from(number.as_f64().unwrap_or_default() * 1.5 + 0.25),
        },
        Value::String(_) => Value::from("other"),
        _ => Value::from(vec!["other"]),
    }
}

/// `[deviation]` lets a checkpoint through that says otherwise in this one key, and none that says the same.
#[test]
fn a_deviation_is_the_only_way_around_a_key() {
    let sources = tenon_compiler::driver::read(&root(), "tests/golden", "kernel-templates").expect("the specs are there");
    let plain = Golden::of(&sources, "llama-gqa", "");
    for (key, path, other) in [
        ("rope_theta", &["rope_parameters", "rope_theta"][..], Value::from(500_000.0)),
        ("mixer.attention.rope.rope_theta", &["rope_parameters", "rope_theta"], Value::from(500_000.0)),
        ("rms_norm_eps", &["rms_norm_eps"], Value::from(1e-5)),
        ("max_position_embeddings", &["max_position_embeddings"], Value::from(4096)),
        ("hidden_act", &["hidden_act"], Value::from("gelu")),
    ] {
        let deviating = Golden::of(&sources, "llama-gqa", &format!("\n[deviation]\n\"{key}\" = \"a test\"\n"));
        let mut changed = plain.config.clone();
        *path.iter().fold(&mut changed, |at, key| at.get_mut(*key).expect("it is there")) = other;
        let ids = |golden: &Golden, config: &Value| {
            let (diags, _) = golden.compared(config).expect("it is read");
            diags.sorted().iter().map(|diagnostic| diagnostic.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&plain, &changed), [Id::CheckpointMismatch], "{key}");
        assert_eq!(ids(&deviating, &changed), [], "{key}");
        assert_eq!(ids(&deviating, &plain.config), [Id::DeviationRefused], "{key}");
        // One key is one key.
        changed["vocab_size"] = Value::from(321);
        assert_eq!(ids(&deviating, &changed), [Id::CheckpointMismatch], "{key}");
        let said = deviating.model.deviations.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(said[0].starts_with(key) && said[0].ends_with(": a test"), "{said:?}");
        let plan = tenon_compiler::emit::plan_text(&tenon_compiler::programs(&deviating.model));
        assert!(plan.contains(&format!("deviates    {}\n", said[0])), "{plan}");
    }
}

/// A GGUF has no text: diagnostics point into the list of its metadata.
#[test]
fn the_metadata_of_a_gguf_is_a_text_to_point_into() {
    let bytes = write::gguf(
        &[
            ("general.architecture", gguf::Value::String("llama".to_owned())),
            ("llama.rope.freq_base", gguf::Value::F32(5e5)),
            ("llama.block_count", gguf::Value::U32(24)),
        ],
        &[],
    );
    let config = CanonicalConfig::from_gguf(&Gguf::read(&bytes).expect("a GGUF")).expect("a config");
    let text = checkpoint::metadata(&config);
    assert_eq!(text, "general.architecture = \"llama\"\nllama.block_count = 24\nllama.rope.freq_base = 500000.0\n");

    let mut sources = Files::base("llama").sources();
    let spec = sources.files().find(|(_, file)| file.path.ends_with("MODEL.toml")).expect("a spec").1;
    let (path, spec) = (spec.path.clone(), spec.text.replace("format = \"hf\"", "format = \"gguf\""));
    sources = sources.files().filter(|(_, file)| file.path != path).fold(SourceMap::default(), |mut kept, (_, file)| {
        kept.add(file.path.clone(), file.text.clone());
        kept
    });
    sources.add(path, spec);
    let format = new::description::Format::Gguf;
    let checkpoint = Checkpoint { format, config, tensors: None, has_chat_template: false, generation: None };
    let files = CheckpointFiles { checkpoint, config: Source { path: "a.gguf (metadata)".to_owned(), text }, tensors: None };
    let diags = tenon_compiler::model_of(&mut sources, "llama", &files).expect_err("it lacks most keys");
    let text = diags.render(&sources, Format::Human, false);
    assert!(text.contains("`rope_theta` is 10000.0 in the spec, and 500000.0 in the checkpoint"), "{text}");
    assert!(text.contains("llama.rope.freq_base = 500000.0\n"), "{text}");
    assert!(text.contains("-------- `llama.rope.freq_base` of the checkpoint\n"), "{text}");
    assert!(!text.contains("num_hidden_layers"), "{text}");
}
