//! Runs compiled models directly, without an engine: chunks, pages and batches exactly as a test says.

use std::path::Path;
use std::sync::Arc;

use tenon_core::batch::{Batch, PageId, WantLogits};
use tenon_core::cpu::Isa;
use tenon_core::dtype::KvDtypeName;
use tenon_core::model::{LoadOptions, Logits, Model, ModelEntry};
use tenon_core::weights::Checkpoint;

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
}

impl Variant {
    /// One thread, pages of 16, the whole prompt, f32 cache.
    pub fn plain(isa: Isa) -> Self {
        Self { chunk: None, page_size: 16, threads: 1, isa, kv: KvDtypeName::F32 }
    }
}

impl std::fmt::Display for Variant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let chunk = self.chunk.map_or_else(|| "whole".to_owned(), |c| c.to_string());
        write!(f, "chunk_{chunk}/page_{}/threads_{}/{}/kv_{}", self.page_size, self.threads, self.isa, self.kv)
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
    let checkpoint = Arc::new(Checkpoint::open(checkpoint).unwrap_or_else(|e| panic!("{e}")));
    let options = LoadOptions {
        threads: variant.threads,
        isa: variant.isa,
        kv_cache_dtype: variant.kv,
        page_size: variant.page_size,
        pages: sequences * tokens.div_ceil(variant.page_size),
        max_batch_tokens: sequences * tokens,
        max_logit_rows: rows,
    };
    let load = entry.cpu.expect("goldens have the target cpu");
    load(&checkpoint, &options).unwrap_or_else(|e| panic!("{e}"))
}

/// One sequence of a test: its pages, and how far it has come.
pub struct Sequence {
    pages: Vec<PageId>,
    /// Tokens in the cache.
    pub done: usize,
}

impl Sequence {
    /// Pages are handed out backwards, so that a kernel that takes page ids for positions is caught.
    pub fn new(model: &dyn Model, tokens: usize, number: usize) -> Self {
        let limits = model.limits();
        let each = tokens.div_ceil(limits.page_size);
        let pages = (number * each..(number + 1) * each).rev().map(|p| PageId(u32::try_from(p).expect("few pages"))).collect();
        Self { pages, done: 0 }
    }

    /// Adds the next tokens to a batch.
    pub fn push(&mut self, batch: &mut Batch, ids: &[u32], want: WantLogits) {
        let pages = (self.done + ids.len()).div_ceil(batch.limits().page_size);
        batch.push(ids, self.done, &self.pages[..pages], None, want).unwrap_or_else(|e| panic!("{e}"));
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
pub fn each_position(model: &mut dyn Model, ids: &[u32], chunk: Option<usize>, mut see: impl FnMut(usize, &[f32])) {
    let chunk = chunk.unwrap_or(ids.len());
    let mut logits = Logits::new(model.info(), chunk.min(ids.len()));
    let mut batch = Batch::new(model.limits());
    let mut sequence = Sequence::new(model, ids.len(), 0);
    for piece in ids.chunks(chunk) {
        batch.clear();
        let first = sequence.done;
        sequence.push(&mut batch, piece, WantLogits::All);
        model.step(&batch, &mut logits).unwrap_or_else(|e| panic!("{e}"));
        for row in 0..logits.rows() {
            see(first + row, logits.row(row));
        }
    }
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
