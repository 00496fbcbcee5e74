//! Runs the steps of a golden on a device, and reads the counters before and after each.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenon_compiler::launches::{Deployment, Ending, Launches, Span, Step, launches};
use tenon_compiler::model::{Model as Compiled, Target};
use tenon_compiler::programs;
use tenon_compiler::source::SourceMap;
use tenon_core::batch::{Batch, PageId, WantLogits};
use tenon_core::cpu::Isa;
use tenon_core::cuda::Device;
use tenon_core::dtype::KvDtypeName;
use tenon_core::model::{LoadOptions, Logits, Model, RowSampling};
use tenon_core::weights::Checkpoint;
use tenon_tests::reference::folder;
use tenon_tests::run::Sequence;

use super::steps::{LARGEST_BUCKET, LOGIT_ROWS, MANY_CONTEXTS, Planned, SEQUENCES, STEP_TOKENS, TOKENS, Want, all};
use super::stored::stored;
use super::{LaunchResults, ModelCounts, StepCounts, name};

/// Tokens of a page.
const PAGE_SIZE: usize = 16;
/// A token that is drawn.
const DRAWN: RowSampling = RowSampling { temperature: 1.0, top_k: 8, top_p: 0.9, random: 0.5 };

/// Runs the steps of some of [`models`](super::models), and tells `each` what came of one.
///
/// # Errors
/// When there is no device that runs the kernels, or the goldens do not compile once more.
pub fn run(models: &[(&str, bool)], mut each: impl FnMut(&ModelCounts)) -> Result<LaunchResults, String> {
    let device = Device::open(0).map_err(|e| e.to_string())?;
    device.require("sm_90a", (9, 0)).map_err(|e| e.to_string())?;
    let mut sources = SourceMap::default();
    for (path, text) in tenon_tests::golden::SOURCES {
        sources.add(*path, *text);
    }
    let compiled = tenon_compiler::models(&sources).map_err(|_| "the goldens' specs were compiled, and are now refused")?;
    let mut results = LaunchResults { device: device.name().to_owned(), ..LaunchResults::default() };
    for &(case, swapped) in models {
        let name = name(case, swapped);
        let mut model = ModelCounts { model: name.clone(), ..ModelCounts::default() };
        model.fault = compiled
            .iter()
            .find(|compiled| compiled.name == name)
            .ok_or_else(|| "it has no spec".to_owned())
            .and_then(|compiled| steps(&device, compiled, case, swapped, &mut model))
            .err();
        each(&model);
        results.add(model);
    }
    Ok(results)
}

/// Runs all steps of one golden. An error ends its list.
fn steps(device: &Arc<Device>, compiled: &Compiled, case: &str, swapped: bool, into: &mut ModelCounts) -> Result<(), String> {
    let programs = programs(compiled);
    let program = programs.iter().find(|program| program.target == Target::Sm90a).ok_or("it is for no GPU")?;
    let weights = if swapped { tenon_tests::weights::large_residual(&std::env::temp_dir(), case) } else { folder(case) };
    let checkpoint = Arc::new(Checkpoint::open(weights).map_err(|e| e.to_string())?);
    let format = |role, layer| stored(program, &checkpoint, role, layer);
    let deployment = Deployment { kv_dtype: "bf16", largest_bucket: LARGEST_BUCKET, format: &format };
    let before = device.launches_counted().map_err(|e| e.to_string())?;
    if !before.is_empty() {
        return Err("another model's kernels are loaded".to_owned());
    }
    let mut running = Running::load(device, &into.model, &checkpoint)?;
    for planned in all() {
        let expected = launches(program, &deployment, &planned.step(&running.done()))?;
        running.compare(&planned.name, &expected, into, |running| running.step(&planned))?;
    }
    if !program.is_captured() {
        drop(running);
        let (mut running, step) = Running::of_many_contexts(device, &into.model, &checkpoint)?;
        let expected = launches(program, &Deployment { largest_bucket: 1, ..deployment }, &step)?;
        let once =
            expected.kernels.iter().filter(|(name, _)| name.starts_with("mla_expand_")).map(|(_, times)| *times).sum::<u64>();
        if once <= program.model.pattern.len() as u64 {
            return Err("its contexts find room in one pass: that would be no test of several".to_owned());
        }
        let name = format!("single tokens of {MANY_CONTEXTS}, contexts in passes");
        running.compare(&name, &expected, into, Running::prepared)?;
    }
    Ok(())
}

/// A model on the device, and its sequences.
struct Running {
    device: Arc<Device>,
    model: Box<dyn Model>,
    sequences: Vec<Sequence>,
    batch: Batch,
    logits: Logits,
    tokens: usize,
}

impl Running {
    /// With room for the steps of the list.
    fn load(device: &Arc<Device>, name: &str, checkpoint: &Arc<Checkpoint>) -> Result<Self, String> {
        let pages = SEQUENCES * TOKENS.div_ceil(PAGE_SIZE);
        let mut running = Self::with_room(device, name, checkpoint, pages, STEP_TOKENS)?;
        running.sequences = (0..SEQUENCES).map(|number| Sequence::new(running.model.as_ref(), TOKENS, number)).collect();
        Ok(running)
    }

    /// With one token for each of many sequences in its batch, whose contexts are as long as the model allows and share all pages but the last.
    fn of_many_contexts(device: &Arc<Device>, name: &str, checkpoint: &Arc<Checkpoint>) -> Result<(Self, Step), String> {
        let context =
            tenon_tests::golden::MODELS.iter().find(|entry| entry.info.name == name).map(|e| e.info.max_position_embeddings);
        let context = context.ok_or("there is no such golden")?;
        let shared = context.div_ceil(PAGE_SIZE) - 1;
        let mut running = Self::with_room(device, name, checkpoint, shared + MANY_CONTEXTS, MANY_CONTEXTS)?;
        let page = |number: usize| PageId(u32::try_from(number).expect("few pages"));
        for sequence in 0..MANY_CONTEXTS {
            let pages: Vec<PageId> = (0..shared).chain([shared + sequence]).map(page).collect();
            running.batch.push(&[1], context - 1, &pages, None, WantLogits::None).map_err(|e| e.to_string())?;
        }
        let span = Span { cached: context as u64 - 1, tokens: 1 };
        Ok((running, Step { spans: vec![span; MANY_CONTEXTS], logit_rows: 0, ending: Ending::Logits }))
    }

    fn with_room(
        device: &Arc<Device>,
        name: &str,
        checkpoint: &Arc<Checkpoint>,
        pages: usize,
        max_batch_tokens: usize,
    ) -> Result<Self, String> {
        let entry = tenon_tests::golden::MODELS.iter().find(|entry| entry.info.name == name).ok_or("there is no such golden")?;
        let on_device = entry.sm_90a.ok_or("it is not compiled for sm_90a")?;
        let options = LoadOptions {
            threads: 2,
            isa: Isa::Portable,
            kv_cache_dtype: KvDtypeName::Bf16,
            page_size: PAGE_SIZE,
            pages,
            state_slots: SEQUENCES,
            snapshots: 1,
            max_batch_tokens,
            max_logit_rows: LOGIT_ROWS,
            max_positions: None,
        };
        let model = (on_device.load)(checkpoint, device, &options).map_err(|e| e.to_string())?;
        let (batch, logits) = (Batch::new(model.limits()), Logits::new(model.info(), LOGIT_ROWS));
        Ok(Self { device: Arc::clone(device), model, sequences: Vec::new(), batch, logits, tokens: 0 })
    }

    /// How many tokens of each sequence were computed.
    fn done(&self) -> Vec<usize> {
        self.sequences.iter().map(|sequence| sequence.done).collect()
    }

    /// What the device counted so far, and what the runtime says that it launched.
    fn counters(&self) -> Result<(BTreeMap<String, u64>, u64), String> {
        Ok((self.device.launches_counted().map_err(|e| e.to_string())?, self.device.launches()))
    }

    /// Runs a step between two looks at the counters, and adds what they say.
    fn compare(
        &mut self,
        name: &str,
        expected: &Launches,
        into: &mut ModelCounts,
        step: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let (before, told) = self.counters()?;
        step(self).map_err(|e| format!("{name}: {e}"))?;
        let (after, told_after) = self.counters()?;
        let moved = |(name, times): (String, u64)| {
            let times = times - before.get(&name).copied().unwrap_or(0);
            (name, times)
        };
        let counted: BTreeMap<String, u64> = after.into_iter().map(moved).collect();
        let products = expected.products.values().sum();
        into.see(StepCounts::compare(name, &expected.kernels, products, &counted, told_after - told), &counted);
        Ok(())
    }

    /// The step that is in the batch.
    fn prepared(&mut self) -> Result<(), String> {
        self.model.step(&self.batch, &mut self.logits).map_err(|e| e.to_string())
    }

    /// One step, with any tokens.
    fn step(&mut self, planned: &Planned) -> Result<(), String> {
        let want = match planned.want {
            Want::None => WantLogits::None,
            Want::Last => WantLogits::Last,
            Want::All => WantLogits::All,
        };
        self.batch.clear();
        for &(sequence, tokens) in &planned.spans {
            let vocabulary = self.model.info().vocab_size;
            let ids: Vec<u32> = (self.tokens..self.tokens + tokens).map(|n| (n * 31 % vocabulary) as u32).collect();
            self.tokens += tokens;
            self.sequences[sequence].push(&mut self.batch, &ids, want);
        }
        let row = match planned.ending {
            Ending::Logits => return self.prepared(),
            Ending::Greedy => RowSampling::GREEDY,
            Ending::Sampled => DRAWN,
        };
        let rows = vec![row; self.batch.logit_rows().len()];
        let sampled = self.model.sampled().ok_or("the model does not choose tokens on the device")?;
        sampled.step_sampled(&self.batch, &rows, &mut Vec::new()).map_err(|e| e.to_string())
    }
}
