//! Runs compiled models directly, without an engine: chunks, pages and batches exactly as a test says.

use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use tenon_core::batch::{Batch, PageId, SnapshotId, StateSlot, WantLogits};
use tenon_core::cpu::Isa;
use tenon_core::dtype::KvDtypeName;
use tenon_core::memory::Settings;
use tenon_core::model::{LoadOptions, Logits, Memory, Model, ModelEntry};
use tenon_core::weights::{Checkpoint, LoadError};

/// Options with which a checkpoint is only compared: room for one token of one sequence.
pub fn smallest(kv_cache_dtype: KvDtypeName) -> LoadOptions {
    LoadOptions {
        threads: 1,
        isa: Isa::Portable,
        kv_cache_dtype,
        page_size: 16,
        pages: 1,
        state_slots: 1,
        snapshots: 0,
        max_batch_tokens: 1,
        max_logit_rows: 1,
        max_positions: None,
    }
}

/// How a test loads a model and cuts its prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Tokens per step, at absolute multiples; `None` is the whole prompt at once.
    pub chunk: Option<usize>,
    /// Tokens per page.
    pub page_size: usize,
    /// Threads.
    pub threads: usize,
    /// Instruction set.
    pub isa: Isa,
    /// Cache dtype.
    pub kv: KvDtypeName,
    /// Latent attention in the other forms: absorbed for spans of several tokens, expanded for one.
    pub swapped: bool,
    /// The start of the prompt is another sequence's: its pages are shared, its recurrent state restored from a snapshot.
    pub prefix: bool,
}

impl Variant {
    /// One thread, pages of 16, the whole prompt, f32 cache.
    pub fn plain(isa: Isa) -> Self {
        Self { chunk: None, page_size: 16, threads: 1, isa, kv: KvDtypeName::F32, swapped: false, prefix: false }
    }
}

impl std::fmt::Display for Variant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let chunk = self.chunk.map_or_else(|| "whole".to_owned(), |c| c.to_string());
        write!(f, "chunk_{chunk}/page_{}/threads_{}/{}/kv_{}", self.page_size, self.threads, self.isa, self.kv)?;
        f.write_str(if self.swapped { "/swapped" } else { "" })?;
        f.write_str(if self.prefix { "/prefix" } else { "" })
    }
}

/// Loads a model with room for `sequences` sequences of `tokens` tokens.
pub fn load(entry: &ModelEntry, checkpoint: &Path, variant: Variant, tokens: usize, sequences: usize) -> Box<dyn Model> {
    load_for_rows(entry, checkpoint, variant, tokens, sequences, sequences * tokens)
}

/// The same with room for `rows` rows of logits in a step: a large vocabulary makes them the largest thing that there is.
pub fn load_for_rows(
    entry: &ModelEntry,
    checkpoint: &Path,
    variant: Variant,
    tokens: usize,
    sequences: usize,
    rows: usize,
) -> Box<dyn Model> {
    try_load(entry, checkpoint, variant, tokens, sequences, rows).unwrap_or_else(|e| panic!("{e}"))
}

/// The same for a checkpoint that may not fit.
///
/// # Errors
/// Why it was not loaded.
pub fn try_load(
    entry: &ModelEntry,
    checkpoint: &Path,
    variant: Variant,
    tokens: usize,
    sequences: usize,
    rows: usize,
) -> Result<Box<dyn Model>, LoadError> {
    let checkpoint = Arc::new(Checkpoint::open(checkpoint)?);
    let options = LoadOptions {
        threads: variant.threads,
        isa: variant.isa,
        kv_cache_dtype: variant.kv,
        page_size: variant.page_size,
        pages: sequences * tokens.div_ceil(variant.page_size),
        state_slots: sequences,
        snapshots: 2,
        max_batch_tokens: sequences * tokens,
        max_logit_rows: rows,
        max_positions: None,
    };
    let load = entry.cpu.expect("goldens have the target cpu");
    let model = load(&checkpoint, &options)?;
    assert_planned(entry, &checkpoint, &options, tokens, model.memory());
    Ok(model)
}

/// What is planned before a load, from headers alone, is what the load then holds, pool by pool and byte by byte.
fn assert_planned(entry: &ModelEntry, checkpoint: &Checkpoint, options: &LoadOptions, context: usize, memory: Memory) {
    let n = |value: usize| value as u64;
    let needs = entry.needs(checkpoint).unwrap_or_else(|e| panic!("it was loaded, and is not planned: {e}"));
    let dtype = options.kv_cache_dtype.as_str();
    let settings = Settings {
        snapshots: n(options.snapshots),
        kv: needs.kv.iter().position(|kv| kv.dtype == dtype).expect("it was loaded with this dtype"),
        page_size: n(options.page_size),
        ..Settings::new(n(context), n(options.state_slots), n(options.threads))
    };
    let table = needs.plan(&settings);
    let (tokens, rows) = (n(options.max_batch_tokens), n(options.max_logit_rows));
    let step = [needs.workspace.activations(tokens, rows), needs.workspace.rooms(tokens, settings.threads)];
    let planned = [table.weights, table.cache, table.state, table.snapshots, step[0], step[1]];
    let held = [memory.weights, memory.cache, memory.state, memory.snapshots, memory.scratch, memory.rooms];
    let name = entry.info.name;
    assert_eq!(planned, held.map(n), "{name}: weights, cache, states, snapshots, activations, rooms of {options:?}");
}

/// Loads a model for a prompt of so many tokens; a prefix hit needs a second sequence.
pub fn load_for_prompt(entry: &ModelEntry, checkpoint: &Path, variant: Variant, tokens: usize) -> Box<dyn Model> {
    let rows = variant.chunk.unwrap_or(tokens).min(tokens);
    load_for_rows(entry, checkpoint, variant, tokens, if variant.prefix { 2 } else { 1 }, rows)
}

/// One sequence of a test: its pages, and how far it has come.
pub struct Sequence {
    pages: Vec<PageId>,
    slot: Option<StateSlot>,
    /// Tokens in the cache.
    pub done: usize,
}

impl Sequence {
    /// Pages are handed out backwards, so that a kernel that takes page ids for positions is caught.
    pub fn new(model: &dyn Model, tokens: usize, number: usize) -> Self {
        let limits = model.limits();
        let each = tokens.div_ceil(limits.page_size);
        let pages = (number * each..(number + 1) * each).rev().map(|p| PageId(u32::try_from(p).expect("few pages"))).collect();
        let slots = limits.state_slots;
        // Backwards as well; another test's state may be left in a slot.
        let slot = (slots > 0).then(|| StateSlot(u32::try_from(slots - 1 - number).expect("few slots")));
        Self { pages, slot, done: 0 }
    }

    /// Another sequence that starts with the first `tokens` tokens of `first`, whole pages, which it shares. Where the model is
    /// recurrent, `first` must stand there, and its state is taken over through a snapshot.
    pub fn after_prefix(model: &mut dyn Model, first: &Self, tokens: usize, total: usize) -> Self {
        let size = model.limits().page_size;
        assert!(tokens.is_multiple_of(size) && tokens <= first.done, "a shared prefix is whole pages that were computed");
        let mut second = Self::new(model, total, 1);
        let shared = tokens / size;
        second.pages[..shared].copy_from_slice(&first.pages[..shared]);
        second.done = tokens;
        if let (Some(from), Some(to)) = (first.slot, second.slot) {
            assert_eq!(first.done, tokens, "a snapshot is of the state after the last token");
            let snapshot = SnapshotId(1);
            model.save_state(from, snapshot).unwrap_or_else(|e| panic!("{e}"));
            model.restore_state(snapshot, to).unwrap_or_else(|e| panic!("{e}"));
        }
        second
    }

    /// Adds the next tokens to a batch.
    pub fn push(&mut self, batch: &mut Batch, ids: &[u32], want: WantLogits) {
        let pages = (self.done + ids.len()).div_ceil(batch.limits().page_size);
        batch.push(ids, self.done, &self.pages[..pages], self.slot, want).unwrap_or_else(|e| panic!("{e}"));
        self.done += ids.len();
    }
}

/// Logits of every position of a prompt, `[positions, vocab]` flat.
pub fn prompt(model: &mut dyn Model, ids: &[u32], chunk: Option<usize>) -> Vec<f32> {
    let mut all = Vec::with_capacity(ids.len() * model.info().vocab_size);
    each_position(model, ids, chunk, |_, row| all.extend_from_slice(row));
    all
}

/// Calls `see` with the logits of every position of a prompt, in order.
pub fn each_position(model: &mut dyn Model, ids: &[u32], chunk: Option<usize>, see: impl FnMut(usize, &[f32])) {
    let mut sequence = Sequence::new(model, ids.len(), 0);
    go_on(model, &mut sequence, ids, chunk, see);
}

/// The same for what a sequence has not computed yet. Chunks end at absolute multiples.
pub fn go_on(
    model: &mut dyn Model,
    sequence: &mut Sequence,
    ids: &[u32],
    chunk: Option<usize>,
    mut see: impl FnMut(usize, &[f32]),
) {
    let chunk = chunk.unwrap_or(ids.len());
    let mut logits = Logits::new(model.info(), chunk.min(ids.len()));
    let mut batch = Batch::new(model.limits());
    while sequence.done < ids.len() {
        batch.clear();
        let first = sequence.done;
        let end = ((first / chunk + 1) * chunk).min(ids.len());
        sequence.push(&mut batch, &ids[first..end], WantLogits::All);
        model.step(&batch, &mut logits).unwrap_or_else(|e| panic!("{e}"));
        for row in 0..logits.rows() {
            see(first + row, logits.row(row));
        }
    }
}

/// Calls `see` with the logits of every position of a prompt, of which the first part is another sequence's: up to the last whole
/// page of the first half, where that has one.
///
/// # Errors
/// When the sequence that came first goes on otherwise than the second did: its pages or its state were written.
pub fn each_position_after_prefix(
    model: &mut dyn Model,
    ids: &[u32],
    chunk: Option<usize>,
    mut see: impl FnMut(usize, &[f32]),
) -> Result<(), String> {
    let size = model.limits().page_size;
    let tokens = ids.len() / 2 / size * size;
    if tokens == 0 {
        each_position(model, ids, chunk, see);
        return Ok(());
    }
    let mut first = Sequence::new(model, ids.len(), 0);
    go_on(model, &mut first, &ids[..tokens], chunk, &mut see);
    let mut second = Sequence::after_prefix(model, &first, tokens, ids.len());
    let mut rows = Vec::new();
    go_on(model, &mut second, ids, chunk, |position, row| {
        rows.push(digest(row));
        see(position, row);
    });
    let (mut at, mut differs) = (rows.iter(), None);
    go_on(model, &mut first, ids, chunk, |position, row| {
        if at.next() != Some(&digest(row)) {
            differs.get_or_insert(position);
        }
    });
    match differs {
        None => Ok(()),
        Some(position) => Err(format!("after a prefix hit, position {position} is not what it is without")),
    }
}

/// A number that differs where any bit of a row does, all but surely.
fn digest(row: &[f32]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    row.iter().for_each(|value| value.to_bits().hash(&mut hasher));
    hasher.finish()
}

/// Teacher-forced greedy steps: after `prefix`, the logits before each of `forced`, `[forced, vocab]` flat.
pub fn forced(model: &mut dyn Model, prefix: &[u32], forced: &[u32]) -> Vec<f32> {
    let tokens = prefix.len() + forced.len();
    let mut logits = Logits::new(model.info(), 1);
    let mut batch = Batch::new(model.limits());
    let mut sequence = Sequence::new(model, tokens, 0);
    let mut all = Vec::new();
    let mut next = prefix;
    for step in 0..forced.len() {
        batch.clear();
        sequence.push(&mut batch, next, WantLogits::Last);
        model.step(&batch, &mut logits).unwrap_or_else(|e| panic!("{e}"));
        all.extend_from_slice(logits.row(0));
        next = &forced[step..=step];
    }
    all
}
