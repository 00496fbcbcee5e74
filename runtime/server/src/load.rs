//! From a model's name and the flags to something that answers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenon_core::cpu::{Isa, physical_threads};
use tenon_core::model::{LoadOptions, Memory, Model, ModelEntry, ModelInfo, PullSource};
use tenon_core::weights::{Checkpoint, LoadError};
use tenon_engine::{ChatTemplate, Engine, EngineConfig, Request, SamplingParams, Tokenizer, random_seed};

use crate::Failure;
use crate::cli::{ContextArgs, LoadArgs, SamplingArgs};
use crate::home::{Home, is_filled};
use crate::pull;

/// Tokens per page of the cache.
pub const PAGE_SIZE: usize = 64;
/// Tokens of a prompt per step: enough rows to reuse each weight many times, few enough that Ctrl-C is heard soon.
const CHUNK: usize = 256;
/// The context that is loaded unless a flag says otherwise.
const DEFAULT_CONTEXT: usize = 8192;

/// The compiled model with this name.
pub fn entry(models: &[&'static ModelEntry], name: &str) -> Result<&'static ModelEntry, Failure> {
    if let Some(entry) = models.iter().find(|m| m.info.name == name) {
        return Ok(entry);
    }
    if models.is_empty() {
        return Err(format!("no model `{name}`: none is compiled in; TENON_MODELS limits which are").into());
    }
    let names: Vec<&str> = models.iter().map(|m| m.info.name).collect();
    Err(format!("no model `{name}` is compiled in; these are: {}", names.join(", ")).into())
}

/// The weights that a flag names, or those that were pulled.
pub fn checkpoint(info: &ModelInfo, weights: Option<&PathBuf>, home: &Home) -> Result<Arc<Checkpoint>, Failure> {
    let path = match weights {
        Some(path) => path.clone(),
        None => {
            let dir = home.model(info.name);
            // What the program carries itself needs no command of its own.
            if let Some(at) = info.pull.iter().position(|source| matches!(source, PullSource::Bundle { .. }))
                && !is_filled(&dir)
            {
                pull::pull(info, Some(at + 1), home)?;
            }
            if !is_filled(&dir) {
                let (name, dir) = (info.name, dir.display());
                return Err(format!(
                    "the weights of {name} are not in {dir}; fetch them with\n\n    tenon-server pull {name}\n\n\
                     or say with --weights where they are"
                )
                .into());
            }
            dir
        }
    };
    Ok(Arc::new(Checkpoint::open(path)?))
}

/// Sizes of one load.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Tokens per page.
    pub page_size: usize,
    /// Pages of the cache.
    pub pages: usize,
    /// Sequences at a time, each of which has a recurrent state where the model has one.
    pub sequences: usize,
    /// Most tokens of a step.
    pub max_batch_tokens: usize,
    /// Most rows of logits of a step.
    pub max_logit_rows: usize,
}

/// Loads a model onto the CPU.
pub fn model(entry: &ModelEntry, checkpoint: &Arc<Checkpoint>, args: &LoadArgs, sizes: Sizes) -> Result<Box<dyn Model>, Failure> {
    let info = entry.info;
    let load =
        entry.cpu.ok_or_else(|| format!("{} is not compiled for the CPU: its spec does not list that target", info.name))?;
    let Some(&default_dtype) = info.kv_cache_dtypes.first() else {
        return Err(format!("the spec of {} lists no kv_cache_dtype", info.name).into());
    };
    let kv_cache_dtype = args.kv_cache_dtype.unwrap_or(default_dtype);
    if !info.kv_cache_dtypes.contains(&kv_cache_dtype) {
        return Err(LoadError::kv_cache_dtype(info, kv_cache_dtype).into());
    }
    let options = LoadOptions {
        threads: args.threads.unwrap_or_else(physical_threads),
        isa: args.isa.unwrap_or_else(Isa::detect),
        kv_cache_dtype,
        page_size: sizes.page_size,
        pages: sizes.pages,
        state_slots: sizes.sequences,
        // Nothing takes snapshots yet: prefixes are not shared between requests.
        snapshots: 0,
        max_batch_tokens: sizes.max_batch_tokens,
        max_logit_rows: sizes.max_logit_rows,
    };
    let model = load(checkpoint, &options)?;
    // Whoever compares answers with those of another runtime must know it.
    for deviation in info.deviations {
        eprintln!("{} departs from its checkpoint: {deviation}", info.name);
    }
    Ok(model)
}

/// A model that answers prompts.
pub struct Loaded {
    /// Its constants.
    pub info: &'static ModelInfo,
    /// Runs it.
    pub engine: Engine,
    /// Its vocabulary.
    pub tokenizer: Tokenizer,
    /// Its chat format, if it has one and it was asked for.
    pub template: Option<ChatTemplate>,
    /// Most tokens of one prompt and its answer.
    pub context: usize,
    /// Time that loading took.
    pub time: Duration,
    /// Bytes that it holds.
    pub memory: Memory,
}

/// Loads what answers one prompt at a time; a raw prompt needs no chat template.
pub fn for_text(
    models: &[&'static ModelEntry],
    name: &str,
    raw: bool,
    args: &LoadArgs,
    context: ContextArgs,
) -> Result<Loaded, Failure> {
    for_sequences(models, name, raw, args, context, 1)
}

/// Loads tokenizer, chat template (unless prompts are raw) and model, in that order: what is wrong with text is found first. The
/// cache has room for `max_sequences` whole contexts.
pub fn for_sequences(
    models: &[&'static ModelEntry],
    name: &str,
    raw: bool,
    args: &LoadArgs,
    context: ContextArgs,
    max_sequences: usize,
) -> Result<Loaded, Failure> {
    let started = Instant::now();
    let entry = entry(models, name)?;
    let info = entry.info;
    let context = context_tokens(info, context)?;
    let checkpoint = checkpoint(info, args.weights.as_ref(), &Home::find()?)?;
    let tokenizer = Tokenizer::load(&checkpoint)?;
    if tokenizer.vocab_size() > info.vocab_size {
        let (tokens, rows) = (tokenizer.vocab_size(), info.vocab_size);
        return Err(format!("the tokenizer has {tokens} tokens, and {name} has embeddings for {rows}").into());
    }
    let template = if raw { None } else { ChatTemplate::load(&checkpoint, info.chat_template, &tokenizer)? };
    let pages = context.div_ceil(PAGE_SIZE);
    let sizes = Sizes {
        page_size: PAGE_SIZE,
        pages: pages.saturating_mul(max_sequences),
        sequences: max_sequences,
        // A chunk of one prompt beside a token of every other sequence.
        max_batch_tokens: CHUNK + max_sequences - 1,
        max_logit_rows: max_sequences,
    };
    let model = model(entry, &checkpoint, args, sizes)?;
    let memory = model.memory();
    let engine = Engine::new(model, EngineConfig { chunk: CHUNK, max_sequences })?;
    let context = engine.context().min(pages * PAGE_SIZE);
    Ok(Loaded { info, engine, tokenizer, template, context, time: started.elapsed(), memory })
}

fn context_tokens(info: &ModelInfo, args: ContextArgs) -> Result<usize, Failure> {
    let longest = info.max_position_embeddings;
    match args.context {
        None => Ok(longest.min(DEFAULT_CONTEXT)),
        Some(context) if (2..=longest).contains(&context) => Ok(context),
        Some(context) => Err(format!("--context is {context}, and {} has 2 to {longest}", info.name).into()),
    }
}

impl Loaded {
    /// A request with these flags; what they leave open is the spec's.
    pub fn request(&self, prompt: Vec<u32>, args: &SamplingArgs) -> Request {
        let spec = self.info.sampling;
        Request {
            prompt,
            sampling: SamplingParams {
                temperature: args.temperature.unwrap_or(spec.temperature),
                top_k: args.top_k.unwrap_or(spec.top_k),
                top_p: args.top_p.unwrap_or(spec.top_p),
                seed: args.seed.unwrap_or_else(random_seed),
            },
            max_tokens: args.max_tokens,
            end_ids: Arc::from(self.tokenizer.end_ids()),
            logprobs: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::INFO;

    static ENTRY: ModelEntry = ModelEntry { info: &INFO, cpu: None, plan: "" };

    #[test]
    fn an_unknown_name_lists_what_is_there() {
        let unknown = entry(&[&ENTRY], "n").unwrap_err().to_string();
        assert_eq!(unknown, "no model `n` is compiled in; these are: m");
        assert!(entry(&[], "n").unwrap_err().to_string().contains("none is compiled in"));
        assert!(entry(&[&ENTRY], "m").is_ok());
    }

    #[test]
    fn absent_weights_name_the_command_that_fetches_them() {
        let dir = tempfile::tempdir().unwrap();
        let error = checkpoint(&INFO, None, &Home::at(dir.path())).unwrap_err().to_string();
        assert!(error.contains("\n    tenon-server pull m\n"), "{error}");
        let wrong = dir.path().join("nothing");
        assert!(checkpoint(&INFO, Some(&wrong), &Home::at(dir.path())).unwrap_err().to_string().contains("nothing"));
    }

    #[test]
    fn the_context_is_within_the_models() {
        let tokens = |context| context_tokens(&INFO, ContextArgs { context }).map_err(|e| e.to_string());
        assert_eq!(tokens(None), Ok(100));
        assert_eq!(tokens(Some(64)), Ok(64));
        assert_eq!(tokens(Some(101)), Err("--context is 101, and m has 2 to 100".into()));
        assert!(tokens(Some(1)).is_err());
    }
}
