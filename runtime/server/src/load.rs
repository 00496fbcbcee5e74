//! From a model's name and the flags to something that answers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenon_core::memory::{self, Flags, Settings};
use tenon_core::model::{self, Memory, ModelEntry, ModelInfo, PullSource, SamplingDefaults};
use tenon_core::weights::Checkpoint;
use tenon_engine::template;
use tenon_engine::{ChatTemplate, Engine, Request, SamplingParams, Tokenizer, random_seed};
use tenon_formats::overrides::Asked;

use crate::Failure;
use crate::cli::{ContextArgs, LoadArgs, OverrideArgs, SamplingArgs};
use crate::home::{Home, is_filled};
use crate::plan::Plan;
use crate::pull;
use crate::target::Place;

/// Tokens per page of the cache.
pub const PAGE_SIZE: usize = memory::PAGE_SIZE as usize;
/// The context that is loaded unless a flag says otherwise.
const DEFAULT_CONTEXT: usize = memory::DEFAULT_CONTEXT as usize;

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

/// Tokenizer and chat template of a model, the latter tried with the tools and the reasoning of its spec; raw prompts need none.
pub fn words(
    info: &ModelInfo,
    template: model::ChatTemplate,
    checkpoint: &Checkpoint,
    raw: bool,
) -> Result<(Tokenizer, Option<ChatTemplate>), Failure> {
    let tokenizer = Tokenizer::load(checkpoint)?;
    if tokenizer.vocab_size() > info.vocab_size {
        let (tokens, rows) = (tokenizer.vocab_size(), info.vocab_size);
        return Err(format!("the tokenizer has {tokens} tokens, and {} has embeddings for {rows}", info.name).into());
    }
    if raw {
        return Ok((tokenizer, None));
    }
    let settings = template::Settings { tools: info.tools, reasoning: info.reasoning };
    let template = template::load(checkpoint, template, settings, &tokenizer)?;
    Ok((tokenizer, template))
}

/// Which model, and what flags say of it.
pub struct Wanted<'a> {
    /// The model, as `list` names it.
    pub name: &'a str,
    /// Prompts are texts, and no conversations: no chat template is needed.
    pub raw: bool,
    /// Where weights are and how they run.
    pub load: &'a LoadArgs,
    /// How long a conversation may be.
    pub context: ContextArgs,
    /// Flags that may contradict the spec.
    pub overrides: &'a OverrideArgs,
    /// Conversations at a time.
    pub sequences: usize,
    /// The flag that says so, where there is one.
    pub sequences_flag: Option<&'static str>,
    /// What they share.
    pub cache: CacheWanted,
}

/// What sequences share. What is `None` is not asked for, and flags are the ones that ask for it, where there are any.
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheWanted {
    /// Tokens of the cache, one whole context at least; without it, there is room for a whole context of every sequence.
    pub tokens: Option<u64>,
    /// The flag of those.
    pub tokens_flag: Option<&'static str>,
    /// Snapshots of recurrent states; without it, two for each sequence, as far as they fit.
    pub snapshots: Option<u64>,
    /// The flag of those.
    pub snapshots_flag: Option<&'static str>,
}

impl CacheWanted {
    /// Of a command that answers once, so that nobody finds what it leaves.
    pub const ONCE: Self = Self { tokens: None, tokens_flag: None, snapshots: Some(0), snapshots_flag: None };
}

/// Settles what flags ask for, before anything is loaded.
///
/// # Errors
/// Flags that contradict the spec, a checkpoint that is not the spec's, and a deployment that does not fit into memory.
pub fn plan(models: &[&'static ModelEntry], wanted: &Wanted<'_>) -> Result<Plan, Failure> {
    let entry = entry(models, wanted.name)?;
    let context = context_tokens(entry.info, wanted.context)?;
    let chat_template = wanted.overrides.chat_template.as_ref().map(|path| path.display().to_string());
    let asked = Asked {
        context: Some(context as u64),
        chat_template: chat_template.as_deref(),
        allowed: Some(wanted.overrides.allowed),
        ..Asked::default()
    };
    let flags = Flags {
        context: Some("--context"),
        sequences: wanted.sequences_flag,
        cache_tokens: wanted.cache.tokens_flag,
        snapshots: wanted.cache.snapshots_flag,
        kv_cache_dtype: Some("--kv-cache-dtype"),
    };
    let place = Place::choose(entry, wanted.load)?;
    let settings = place.settings(context as u64, wanted.sequences as u64);
    let settings = Settings { cache_tokens: wanted.cache.tokens, ..settings };
    Plan::sized(entry, place, wanted.load, asked, (settings, wanted.cache.snapshots), &flags)
}

/// Plans and loads what answers one prompt at a time.
pub fn for_text(models: &[&'static ModelEntry], wanted: &Wanted<'_>) -> Result<Loaded, Failure> {
    let plan = plan(models, wanted)?;
    plan.overrides.lines().iter().for_each(|line| eprintln!("{line}"));
    for_plan(&plan, wanted)
}

/// Loads tokenizer, chat template (unless prompts are raw) and model, in that order: what is wrong with text is found first.
pub fn for_plan(plan: &Plan, wanted: &Wanted<'_>) -> Result<Loaded, Failure> {
    let started = Instant::now();
    let info = plan.entry.info;
    let source = match &wanted.overrides.chat_template {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|e| format!("--chat-template {}: {e}", path.display()))?;
            // As long as a spec's, which is compiled in: there is one per process.
            model::ChatTemplate::Spec(text.leak())
        }
        None => info.chat_template,
    };
    let (tokenizer, template) = words(info, source, &plan.checkpoint, wanted.raw)?;
    let model = plan.load()?;
    let memory = model.memory();
    let engine = Engine::new(model, plan.engine())?;
    let context = engine.context();
    Ok(Loaded { info, engine, tokenizer, template, context, time: started.elapsed(), memory })
}

/// The context that is asked for; one that is longer than the model's is an override, which the plan settles.
fn context_tokens(info: &ModelInfo, args: ContextArgs) -> Result<usize, Failure> {
    let longest = info.max_position_embeddings;
    match args.context {
        None => Ok(longest.min(DEFAULT_CONTEXT)),
        Some(context) if context >= 2 => Ok(context),
        Some(context) => Err(format!("--context is {context}, and {} has 2 to {longest}", info.name).into()),
    }
}

impl Loaded {
    /// A request with these flags; what they leave open is the spec's.
    pub fn request(&self, prompt: Vec<u32>, args: &SamplingArgs) -> Request {
        let SamplingDefaults { temperature, top_p, top_k } = args.choice.over(self.info.sampling);
        let seed = args.seed.unwrap_or_else(random_seed);
        let sampling = SamplingParams { temperature, top_k, top_p, seed, ..SamplingParams::GREEDY };
        let end_ids = Arc::from(self.tokenizer.end_ids());
        Request { max_tokens: args.max_tokens, ..Request::new(prompt, sampling, end_ids) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ENTRY, INFO};

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
    fn a_context_holds_a_prompt_and_a_token() {
        let tokens = |context| context_tokens(&INFO, ContextArgs { context }).map_err(|e| e.to_string());
        assert_eq!(tokens(None), Ok(100));
        assert_eq!(tokens(Some(64)), Ok(64));
        // Longer than the model's is for the plan to refuse, or to allow.
        assert_eq!(tokens(Some(101)), Ok(101));
        assert_eq!(tokens(Some(1)), Err("--context is 1, and m has 2 to 100".into()));
    }
}
