//! What is settled before anything is loaded: which flags may contradict the spec, and that the deployment fits into memory.

use std::sync::Arc;

use serde_json::{Value, json};
use tenon_core::cpu::{Isa, physical_threads};
use tenon_core::memory::{Budget, Flags, Settings, Table};
use tenon_core::model::{ChatTemplate, LoadOptions, Model, ModelEntry, ModelInfo};
use tenon_core::weights::{Checkpoint, CheckpointKind};
use tenon_engine::EngineConfig;
use tenon_formats::overrides::{Asked, Overrides, Stated, Template, settle};
use tenon_formats::report::{CommandLine, Refused};

use crate::Failure;
use crate::cli::LoadArgs;
use crate::home::Home;
use crate::load;
use crate::target::Place;

/// A deployment that the spec allows, or that overrides it on purpose, and that fits into memory. Nothing is loaded yet.
pub struct Plan {
    /// What was compiled.
    pub entry: &'static ModelEntry,
    /// The weights, of which only headers were read.
    pub checkpoint: Arc<Checkpoint>,
    /// What it will hold.
    pub settings: Settings,
    /// The same, pool by pool.
    pub table: Table,
    /// What it may hold; nothing where neither a flag nor the system says so.
    pub budget: Option<Budget>,
    /// Statements of the spec that flags replace.
    pub overrides: Overrides,
    /// What runs it.
    pub place: Place,
    options: LoadOptions,
}

impl Plan {
    /// Settles what a command asks of a place. `settings` state sizes; dtype and threads are those of `args`.
    ///
    /// # Errors
    /// Flags that contradict the spec, a checkpoint that is not the spec's, and a deployment that does not fit.
    pub fn new(
        entry: &'static ModelEntry,
        place: Place,
        args: &LoadArgs,
        asked: Asked<'_>,
        settings: Settings,
        flags: &Flags,
    ) -> Result<Self, Failure> {
        Self::sized(entry, place, args, asked, (settings, Some(settings.snapshots)), flags)
    }

    /// The same with as many snapshots as are useful and fit, unless a number is stated.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn sized(
        entry: &'static ModelEntry,
        place: Place,
        args: &LoadArgs,
        asked: Asked<'_>,
        (settings, snapshots): (Settings, Option<u64>),
        flags: &Flags,
    ) -> Result<Self, Failure> {
        let info = entry.info;
        let asked = Asked { kv_cache_dtype: args.kv_cache_dtype.map(|dtype| dtype.as_str()), ..asked };
        let line = CommandLine::new(std::env::args_os().map(|word| word.to_string_lossy().into_owned()));
        let overrides = settle(&stated(info), &asked, &line)?;
        let listed = place.kv_cache_dtypes(entry);
        let kv = match args.kv_cache_dtype {
            None => 0,
            // The spec lists it, or it would have been refused; the target may not read it.
            Some(dtype) => listed.iter().position(|listed| *listed == dtype).ok_or_else(|| {
                let names: Vec<&str> = listed.iter().map(|dtype| dtype.as_str()).collect();
                format!("--kv-cache-dtype {dtype}: on {} a cache of {} is {}", place.name(), info.name, names.join(" or "))
            })?,
        };
        let Some(&kv_cache_dtype) = listed.get(kv) else {
            return Err(format!("the spec of {} lists no kv_cache_dtype", info.name).into());
        };
        holds_what_is_asked(&place, info.name, &settings, flags)?;
        let threads = args.threads.unwrap_or_else(physical_threads);
        let settings = Settings { kv, threads: threads as u64, ..settings };
        let checkpoint = load::checkpoint(info, args.weights.as_ref(), &Home::find()?)?;
        let needs = place.needs(entry, &checkpoint)?;
        let budget = place.budget(args.memory)?;
        let snapshots = snapshots.unwrap_or_else(|| needs.useful_snapshots(&settings, budget.as_ref()));
        let settings = Settings { snapshots, ..settings };
        let table = match &budget {
            Some(budget) => needs.fit(&settings, budget, flags).map_err(|refusal| Refused::from(refusal.report(info.name)))?,
            None => needs.plan(&settings),
        };
        // What does not fit into a `usize` fits into no memory either.
        let n = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let options = LoadOptions {
            threads,
            isa: args.isa.unwrap_or_else(Isa::detect),
            kv_cache_dtype,
            page_size: n(settings.page_size),
            pages: n(settings.pages()),
            state_slots: n(settings.sequences),
            snapshots: n(settings.snapshots),
            max_batch_tokens: n(settings.step_tokens()),
            max_logit_rows: n(settings.logit_rows()),
            max_positions: Some(n(settings.context)).filter(|&context| context > info.max_position_embeddings),
        };
        Ok(Self { entry, checkpoint, settings, table, budget, overrides, place, options })
    }

    /// Loads it, and says where the model departs from its checkpoint.
    pub fn load(&self) -> Result<Box<dyn Model>, Failure> {
        if let Some(why) = self.place.why_not_gpu() {
            // The answers are the same, only many times slower.
            eprintln!("{} runs on the CPU: {why}", self.entry.info.name);
        }
        let model = self.place.load(&self.checkpoint, &self.options)?;
        // Whoever compares answers with those of another runtime must know it.
        for deviation in self.entry.info.deviations {
            eprintln!("{} departs from its checkpoint: {deviation}", self.entry.info.name);
        }
        Ok(model)
    }

    /// How an engine schedules what was loaded. A step has room for one chunk of prompts beside a token of every other sequence: with
    /// more, whoever decodes would wait longer for each token, and a chunk is long enough already to use the processors well.
    pub fn engine(&self) -> EngineConfig {
        let (settings, options) = (&self.settings, &self.options);
        let n = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        EngineConfig {
            step_tokens: options.max_batch_tokens,
            snapshots: options.snapshots,
            // Whole pages, of which one sequence does not get those of the others.
            context: Some(n(settings.context_pages()).saturating_mul(options.page_size)),
            ..EngineConfig::new(n(settings.chunk), n(settings.sequences))
        }
    }

    /// The memory that it will hold and what there is, for people.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}", self.table.title, self.table.text("  "));
        if let Some(budget) = &self.budget {
            text += &budget.line("  ");
        }
        text
    }

    /// What is running and where it comes from, for programs.
    pub fn json(&self) -> Value {
        let (info, settings, options) = (self.entry.info, &self.settings, &self.options);
        // The compiler wrote it, and a test reads every one.
        let spec: Value = serde_json::from_str(self.entry.facts).unwrap_or_default();
        json!({
            "model": info.name,
            "server_version": env!("CARGO_PKG_VERSION"),
            "spec": spec,
            "checkpoint": {
                "path": self.checkpoint.path().display().to_string(),
                "format": match self.checkpoint.kind() {
                    CheckpointKind::Hf => "hf",
                    CheckpointKind::Gguf => "gguf",
                    CheckpointKind::Mistral => "mistral",
                },
            },
            "deployment": {
                "target": self.place.name(),
                "context": settings.context,
                "max_sequences": settings.sequences,
                "cache_tokens": settings.pages().saturating_mul(settings.page_size),
                "step_tokens": options.max_batch_tokens,
                "snapshots": settings.snapshots,
                "kv_cache_dtype": options.kv_cache_dtype.as_str(),
                "page_size": settings.page_size,
                "prefill_chunk": settings.chunk,
                "threads": settings.threads,
                "isa": options.isa.to_string(),
            },
            "memory": self.table.json(self.budget.as_ref()),
            "overrides": self.overrides.json(),
        })
    }
}

/// Refuses more sequences than the model was compiled for, and a cache that does not hold one whole context.
fn holds_what_is_asked(place: &Place, name: &str, settings: &Settings, flags: &Flags) -> Result<(), Failure> {
    let sequences = settings.sequences;
    if let Some(most) = place.max_sequences().filter(|&most| sequences > most) {
        let flag = flags.sequences.unwrap_or("the number of sequences");
        let target = place.name();
        return Err(format!("{flag} is {sequences}, and {name} was compiled for {most} at most on {target}").into());
    }
    if settings.pages() < settings.context_pages() {
        let (context, tokens) = (settings.context, settings.cache_tokens.unwrap_or(0));
        let flag = flags.cache_tokens.unwrap_or("the size of the cache");
        let shorter = flags.context.map(|flag| format!(", or {flag} {tokens}")).unwrap_or_default();
        return Err(format!(
            "{flag} is {tokens}, and the cache must hold one whole context of {context} tokens: {flag} {context} does{shorter}"
        )
        .into());
    }
    Ok(())
}

/// What a model's spec states.
fn stated(info: &ModelInfo) -> Stated<'_> {
    Stated {
        model: info.name,
        max_position_embeddings: info.max_position_embeddings as u64,
        kv_cache_dtypes: info.kv_cache_dtypes.iter().map(|dtype| dtype.as_str()).collect(),
        chat_template: match info.chat_template {
            ChatTemplate::Checkpoint => Template::Checkpoint,
            ChatTemplate::Spec(_) => Template::File,
            ChatTemplate::None => Template::None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bard() -> &'static ModelEntry {
        tenon_models::MODELS.iter().find(|m| m.info.name == "bard-mla").expect("the model whose weights are in the binary")
    }

    fn plan(args: &LoadArgs, asked: Asked<'_>, settings: Settings) -> Result<Plan, String> {
        let flags = Flags { context: Some("--context"), ..Flags::default() };
        let weights = concat!(env!("CARGO_MANIFEST_DIR"), "/../../model-specs/bard-mla/weights");
        let args = &LoadArgs { weights: Some(weights.into()), ..args.clone() };
        let place = Place::choose(bard(), args).map_err(|e| e.to_string())?;
        Plan::new(bard(), place, args, asked, settings, &flags).map_err(|e| e.to_string())
    }

    #[test]
    fn the_facts_of_every_model_are_json() {
        for entry in tenon_models::MODELS {
            let facts: Value = serde_json::from_str(entry.facts).unwrap();
            assert_eq!(facts["model"]["name"], entry.info.name);
        }
    }

    #[test]
    fn what_was_planned_is_loaded() {
        let args = LoadArgs { threads: Some(2), memory: Some(1 << 30), ..LoadArgs::default() };
        let plan = plan(&args, Asked::default(), Settings::new(128, 3, 1)).unwrap();
        let memory = plan.load().unwrap().memory();
        let table = &plan.table;
        let planned = [table.weights, table.cache, table.state, table.snapshots, table.activations, table.rooms];
        let held = [memory.weights, memory.cache, memory.state, memory.snapshots, memory.scratch, memory.rooms];
        assert_eq!(planned, held.map(|bytes| bytes as u64));
        assert!(plan.text().ends_with(" 1.0 GiB  --memory\n"), "{}", plan.text());
        let json = plan.json();
        assert_eq!((&json["memory"]["fits"], &json["deployment"]["threads"]), (&json!(true), &json!(2)));
        assert_eq!((&json["overrides"], &json["spec"]["model"]["name"]), (&json!([]), &json!("bard-mla")));
    }

    #[test]
    fn a_cache_holds_one_context_at_least() {
        let shared = Settings { cache_tokens: Some(300), ..Settings::new(256, 3, 1) };
        let args = LoadArgs { threads: Some(1), ..LoadArgs::default() };
        let plan_of = |settings| plan(&args, Asked::default(), settings);
        let planned = plan_of(shared).unwrap();
        assert_eq!(planned.load().unwrap().memory().cache as u64, planned.table.cache);
        assert_eq!(planned.json()["deployment"]["cache_tokens"], 320);
        let config = planned.engine();
        assert_eq!((config.context, config.step_tokens, config.max_sequences), (Some(256), 258, 3));
        let refused = plan_of(Settings { cache_tokens: Some(192), ..shared }).err().unwrap();
        assert_eq!(
            refused,
            "the size of the cache is 192, and the cache must hold one whole context of 256 tokens: the size of the cache 256 does, \
             or --context 192"
        );
    }

    #[test]
    fn a_longer_context_is_loaded_where_it_is_allowed() {
        let longest = bard().info.max_position_embeddings as u64;
        let (context, settings) = (Some(longest + 64), Settings::new(longest + 64, 1, 1));
        let args = LoadArgs::default();
        let refused = plan(&args, Asked { context, allowed: Some(false), ..Asked::default() }, settings).err().unwrap();
        assert!(
            refused.starts_with("error[override-refused]: `--context 2112` contradicts the spec of `bard-mla`\n"),
            "{refused}"
        );
        let plan = plan(&args, Asked { context, allowed: Some(true), ..Asked::default() }, settings).unwrap();
        assert_eq!(plan.load().unwrap().limits().max_positions, 2112);
        assert_eq!(plan.json()["overrides"][0]["spec"], "2048");
    }
}
