//! Changes of real specs, and the exact text of each. `TENON_BLESS=1` writes the texts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;
use crate::diagnostic::Format;

/// Files by path: models of `tests/ui/base` and its templates, which no new kernel changes.
#[derive(Clone)]
struct Workspace(BTreeMap<String, String>);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_path_buf()
}

impl Workspace {
    fn of(models: &[&str]) -> Self {
        let read = crate::driver::read(&root().join("tests/ui/base"), "model-specs", "kernel-templates").unwrap();
        let kept = crate::driver::only(&read, &models.iter().map(|&m| m.to_owned()).collect::<Vec<_>>());
        Self(kept.files().map(|(_, file)| (file.path.clone(), file.text.clone())).collect())
    }

    /// A model of `model-specs/`, as it is served, without its KERNEL.toml.
    fn real(name: &str) -> Self {
        let mut workspace = Self::of(&[]);
        let path = format!("model-specs/{name}/MODEL.toml");
        let text = std::fs::read_to_string(root().join(&path)).unwrap();
        workspace.0.insert(path, text);
        workspace
    }

    fn with(mut self, path: &str, text: &str) -> Self {
        self.0.insert(path.to_owned(), text.to_owned());
        self
    }

    fn without(mut self, folder: &str) -> Self {
        self.0.retain(|path, _| !path.starts_with(folder));
        self
    }

    /// A text replaced that stands exactly once.
    fn edited(mut self, path: &str, find: &str, replace: &str) -> Self {
        let text = self.0.get_mut(path).unwrap_or_else(|| panic!("no {path}"));
        assert_eq!(text.matches(find).count(), 1, "`{find}` in {path}");
        *text = text.replace(find, replace);
        self
    }

    fn sources(&self) -> SourceMap {
        let mut sources = SourceMap::default();
        for (path, text) in &self.0 {
            sources.add(path.clone(), text.clone());
        }
        sources
    }
}

/// What `tenon diff --against` would report of two workspaces.
fn report(old: &Workspace, new: &Workspace, names: &[String]) -> Report {
    let (old, new) = (old.sources(), new.sources());
    let models = |sources: &SourceMap| {
        crate::models(sources).unwrap_or_else(|diags| panic!("{}", diags.render(sources, Format::Human, false)))
    };
    let (old_models, new_models) = (models(&old), models(&new));
    let difference = compare(Side { sources: &old, models: &old_models }, Side { sources: &new, models: &new_models }, names);
    let old_files = crate::files(&old_models).into_iter().map(|file| (file.path, file.text.into_bytes())).collect();
    let compared = |old: &str, new: &str| Compared { old: old.to_owned(), new: new.to_owned() };
    Report {
        specs: Some(compared("before", "after")),
        note: None,
        difference,
        generated: compared("what before emits", "what after emits"),
        files: files(&old_files, &crate::files(&new_models)),
    }
}

fn expect(case: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diff/expected").join(case);
    if std::env::var_os("TENON_BLESS").is_some_and(|bless| bless == "1") {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{case}: {e}; TENON_BLESS=1 writes it:\n{text}"));
    assert!(expected == text, "{case}: TENON_BLESS=1 writes\n{text}");
}

fn expect_text(case: &str, old: &Workspace, new: &Workspace) {
    expect(case, &report(old, new, &[]).text(false));
}

const LLAMA: &str = "model-specs/llama/MODEL.toml";
const ATTENTION: &str = "kernel-templates/cpu_attention/TEMPLATE.toml";

#[test]
fn more_key_value_heads() {
    let old = Workspace::real("smollm2-135m-instruct");
    let spec = "model-specs/smollm2-135m-instruct/MODEL.toml";
    let new = old.clone().edited(spec, "num_key_value_heads = 3", "num_key_value_heads = 9");
    expect_text("key_value_heads.txt", &old, &new);
    let report = report(&old, &new, &[]);
    expect("key_value_heads.json", &report.json(false));
    let whole: serde_json::Value = serde_json::from_str(&report.json(true)).unwrap();
    let cpu = whole["files"].as_array().unwrap().iter().find(|f| f["path"] == "src/smollm2_135m_instruct/cpu.rs").unwrap();
    assert!(cpu["diff"].as_str().unwrap().starts_with("@@ -"), "{cpu}");
}

#[test]
fn a_model_comes_and_one_goes() {
    let old = Workspace::of(&["llama", "qwen3"]);
    let new = Workspace::of(&["llama", "nemotron_h"]);
    expect_text("models.txt", &old, &new);
}

#[test]
fn a_kernel_is_tuned() {
    let old = Workspace::of(&["llama", "qwen3"]);
    let new = old.clone().edited("model-specs/llama/KERNEL.toml", "tile = 4", "tile = 2");
    expect_text("tuning.txt", &old, &new);
    let without = old.clone().without("model-specs/llama/KERNEL.toml");
    expect_text("tuning_gone.txt", &old, &without);
}

#[test]
fn latent_attention_is_computed_in_the_other_space() {
    let old = Workspace::of(&["mistral4"]);
    let new = old.clone().with("model-specs/mistral4/KERNEL.toml", "[cpu.mla]\nprefill = \"absorbed\"\n");
    expect_text("latent_form.txt", &old, &new);
}

#[test]
fn a_template_changes() {
    let old = Workspace::of(&["gemma2", "llama", "qwen3"]);
    let narrower = old.clone().edited(ATTENTION, "max = 512", "max = 256");
    expect_text("template.txt", &old, &narrower);
    let tuned = narrower.edited(ATTENTION, "tunable = [4, 1, 2]", "tunable = [2, 1, 4]");
    expect_text("template_default.txt", &old, &tuned);
}

#[test]
fn a_better_template_comes_and_one_that_nobody_needs_goes() {
    let old = Workspace::of(&["llama", "qwen3"]);
    let text = format!("priority = 1\n{}", old.0[ATTENTION].replace("max = 512", "max = 96"));
    let new = old.clone().with("kernel-templates/cpu_attention_small/TEMPLATE.toml", &text);
    let new = new.without("kernel-templates/cpu_mamba2_scan");
    expect_text("template_added.txt", &old, &new);
}

#[test]
fn scales_change() {
    let old = Workspace::of(&["gemma2", "llama", "minicpm3", "mistral4"]);
    let spec = "model-specs/mistral4/MODEL.toml";
    // The same formula over another number, one number of a rotation and what follows from it, and another formula.
    let new = old.clone().edited(LLAMA, "rope_theta = 10000.0", "rope_theta = 20000.0");
    let new = new.edited("model-specs/minicpm3/MODEL.toml", "scale_emb = 4.0", "scale_emb = 5.0");
    let new = new.edited(spec, "\nfactor = 4.0", "\nfactor = 8.0");
    let new = new.edited("model-specs/gemma2/MODEL.toml", "final_logit_softcapping = 3.0", "final_logit_softcapping = 4.0");
    expect_text("scales.txt", &old, &new);
}

#[test]
fn dtypes_change() {
    let old = Workspace::of(&["llama"]);
    let text = &old.0[LLAMA];
    let line = |key: &str| text.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    let new = old.clone().edited(LLAMA, &line("kv_cache_dtype"), "kv_cache_dtype = [\"bf16\"]");
    let new = new.edited(LLAMA, &line("accept"), "accept = [\"q8_0\", \"f32\"]");
    expect_text("dtypes.txt", &old, &new);
}

#[test]
fn a_hybrid_changes_its_layers_and_its_state() {
    let old = Workspace::of(&["nemotron_h"]);
    let spec = "model-specs/nemotron_h/MODEL.toml";
    let text = &old.0[spec];
    let line = |key: &str| text.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    let new = old.clone().edited(spec, &line("ssm_state_size"), "ssm_state_size = 64");
    expect_text("hybrid.txt", &old, &new);
}

#[test]
fn settings_change() {
    let old = Workspace::of(&["llama"]);
    let new = old.clone().edited(LLAMA, "tie_word_embeddings = true", "tie_word_embeddings = false");
    let new = new.edited(LLAMA, "[chat]\ntemplate = \"checkpoint\"", "[chat]\ntemplate = \"a.jinja\"");
    let new = new.with("model-specs/llama/a.jinja", "{% for m in messages %}\n{{ m.content }}{% endfor %}\n");
    expect_text("settings.txt", &old, &new);
    let newer = new.clone().with("model-specs/llama/a.jinja", "{% for m in messages %}\n2\n{{ m.content }}!{% endfor %}\n");
    expect_text("chat_template.txt", &new, &newer);
}

#[test]
fn another_spelling_is_no_difference() {
    let old = Workspace::of(&["llama"]);
    let text = old.0[LLAMA].replace("rope_theta = 10000.0", "rope_theta = 1e4 # the same").replace("\n\n", "\n");
    let new = old.clone().with(LLAMA, &text);
    assert!(report(&old, &new, &[]).is_empty());
    expect_text("none.txt", &old, &new);
}

#[test]
fn only_what_is_named_is_compared() {
    let old = Workspace::of(&["llama", "qwen3"]);
    let new = old.clone().edited(LLAMA, "rope_theta = 10000.0", "rope_theta = 20000.0");
    let new = new.edited("kernel-templates/cpu_head_norm/TEMPLATE.toml", "# ", "# Of heads. ");
    let named = |name: &str| report(&old, &new, &[name.to_owned()]).difference;
    assert!(named("qwen3").is_empty());
    assert_eq!(named("llama").models.len(), 1);
    // Only qwen3 norms its heads.
    let new = old.clone().edited("kernel-templates/cpu_head_norm/TEMPLATE.toml", "accumulate = \"f32\"", "accumulate = \"f64\"");
    let named = |name: &str| report(&old, &new, &[name.to_owned()]).difference;
    assert!(named("llama").is_empty());
    assert_eq!(named("qwen3").templates.len(), 1);
}

#[test]
fn the_whole_difference_of_files_is_one_that_patch_reads() {
    let old = Workspace::of(&["llama"]);
    let new = old.clone().edited(LLAMA, "rope_theta = 10000.0", "rope_theta = 20000.0");
    expect("full.txt", &report(&old, &new, &[]).text(true));
}

#[test]
fn ratios_show_what_changed() {
    let ratio = |old: u64, new: u64| text::ratio(new as f64 / old as f64);
    assert_eq!([ratio(1, 3), ratio(3, 1), ratio(1000, 1001)], ["x3.00", "x0.33", "x1.001"]);
    assert_eq!(ratio(134_515_008, 134_515_009), "x1.00000001");
}
