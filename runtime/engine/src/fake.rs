//! A model for tests, here and in crates that drive an engine: it checks what it is fed and answers from a script.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use tenon_core::batch::{Batch, BatchLimits, PageId, SnapshotId, StateSlot};
use tenon_core::dtype::KvDtypeName;
use tenon_core::model::{
    ChatTemplate, Logits, Memory, Model, ModelInfo, RowSampling, SampledModel, SamplingDefaults, StateError, StepError,
};
use tenon_core::rows::Rows;

/// Its token ids are below this.
pub const VOCAB: usize = 300;

static INFO: ModelInfo = ModelInfo {
    name: "fake",
    source: "nowhere",
    parameters: 0,
    vocab_size: VOCAB,
    max_position_embeddings: 64,
    kv_cache_dtypes: &[KvDtypeName::F32],
    kv_elements_per_token: 1,
    kv_fixed_bytes_per_token: 0,
    state_bytes_per_slot: 0,
    pull: &[],
    chat_template: ChatTemplate::None,
    tools: None,
    reasoning: None,
    sampling: SamplingDefaults { temperature: 0.0, top_p: 1.0, top_k: 0 },
    deviations: &[],
};

/// Limits with which chunks, pages and steps all matter.
pub fn fake_limits() -> BatchLimits {
    BatchLimits {
        vocab_size: VOCAB,
        max_positions: 64,
        page_size: 16,
        pages: 8,
        state_slots: 0,
        max_tokens: 8,
        max_logit_rows: 4,
    }
}

/// One step, as `(start, tokens)` of each sequence.
pub type Spans = Vec<(usize, Vec<u32>)>;

/// Logits of the next token, given a whole sequence and what [`row`] makes of it.
type Answer = dyn Fn(&[u32], u64) -> Rows<f32, VOCAB> + Send;

/// What a row of a sequence is computed to: a number that everything goes into on which a row may depend. That is the row before it, its
/// token and, where it matters how a sequence is cut, the span in which it was computed.
pub fn row(before: u64, token: u32, span: Option<&Range<usize>>) -> u64 {
    let mix = |state: u64, value: u64| (state ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let row = mix(before, u64::from(token) + 1);
    span.map_or(row, |span| mix(mix(row, span.start as u64 + 1), span.end as u64))
}

/// What a page has of one token.
#[derive(Clone, Copy)]
struct Cell {
    token: u32,
    row: u64,
}

/// Remembers tokens per page like a cache, so that a wrong page table or a skipped token shows; and where it is recurrent, how far the
/// state of each slot and snapshot is, so that a state that does not go with the pages shows.
pub struct Fake {
    limits: BatchLimits,
    any_chunking: bool,
    cache: Vec<Option<Cell>>,
    states: Vec<u64>,
    snapshots: Vec<Option<u64>>,
    answer: Box<Answer>,
    steps: Arc<Mutex<Vec<Spans>>>,
    chooses: Option<Chosen>,
}

/// How the rows of each step were to be chosen.
pub type Chosen = Arc<Mutex<Vec<Vec<RowSampling>>>>;

impl Fake {
    /// Logits are a function of the whole sequence, read back from the cache.
    pub fn new(limits: BatchLimits, answer: impl Fn(&[u32]) -> Rows<f32, VOCAB> + Send + 'static) -> Self {
        Self::of_rows(limits, true, move |tokens, _| answer(tokens))
    }

    /// Logits are a function of the whole sequence and of its last row, which depends on how the sequence was cut unless `any_chunking`.
    pub fn of_rows(
        limits: BatchLimits,
        any_chunking: bool,
        answer: impl Fn(&[u32], u64) -> Rows<f32, VOCAB> + Send + 'static,
    ) -> Self {
        Self {
            limits,
            any_chunking,
            cache: vec![None; limits.pages * limits.page_size],
            states: vec![0; limits.state_slots],
            snapshots: Vec::new(),
            answer: Box::new(answer),
            steps: Arc::default(),
            chooses: None,
        }
    }

    /// With a pool of snapshots.
    pub fn with_snapshots(self, snapshots: usize) -> Self {
        Self { snapshots: vec![None; snapshots], ..self }
    }

    /// Answers with these tokens, one after the other, again for each sequence that is shorter than the last.
    pub fn scripted(script: &[u32], limits: BatchLimits) -> Self {
        let script = script.to_vec();
        let seen: Mutex<Option<usize>> = Mutex::new(None);
        Self::new(limits, move |tokens| {
            let mut start = seen.lock().unwrap();
            let prompt = match *start {
                Some(prompt) if tokens.len() > prompt => prompt,
                _ => *start.insert(tokens.len()),
            };
            one_hot(script[tokens.len() - prompt])
        })
    }

    /// The same, which chooses the most likely tokens itself, whatever it is told; and what it is told.
    pub fn choosing(mut self) -> (Self, Chosen) {
        let told = Chosen::default();
        self.chooses = Some(Arc::clone(&told));
        (self, told)
    }

    /// What the engine fed, step by step.
    pub fn steps(&self) -> Arc<Mutex<Vec<Spans>>> {
        Arc::clone(&self.steps)
    }

    fn cell(&self, pages: &[PageId], position: usize) -> Cell {
        let size = self.limits.page_size;
        let page = pages[position / size];
        let cell = self.cache[page.0 as usize * size + position % size];
        cell.unwrap_or_else(|| panic!("nothing was written to page {} for position {position}", page.0))
    }
}

/// Logits that are largest at `token`.
pub fn one_hot(token: u32) -> Rows<f32, VOCAB> {
    let mut row = Rows::with_capacity(1);
    row.set_rows(1);
    row.row_mut(0)[token as usize] = 5.0;
    row
}

impl Model for Fake {
    fn info(&self) -> &'static ModelInfo {
        &INFO
    }

    fn limits(&self) -> BatchLimits {
        self.limits
    }

    fn memory(&self) -> Memory {
        Memory::default()
    }

    fn any_chunking(&self) -> bool {
        self.any_chunking
    }

    fn save_state(&mut self, slot: StateSlot, snapshot: SnapshotId) -> Result<(), StateError> {
        StateError::check(&self.limits, self.snapshots.len(), slot, snapshot)?;
        self.snapshots[snapshot.0 as usize] = Some(self.states[slot.0 as usize]);
        Ok(())
    }

    fn restore_state(&mut self, snapshot: SnapshotId, slot: StateSlot) -> Result<(), StateError> {
        StateError::check(&self.limits, self.snapshots.len(), slot, snapshot)?;
        let saved = self.snapshots[snapshot.0 as usize];
        self.states[slot.0 as usize] = saved.unwrap_or_else(|| panic!("snapshot {} was never saved", snapshot.0));
        Ok(())
    }

    fn sampled(&mut self) -> Option<&mut dyn SampledModel> {
        self.chooses.is_some().then_some(self)
    }

    fn step(&mut self, batch: &Batch, logits: &mut Logits) -> Result<(), StepError> {
        let size = self.limits.page_size;
        let mut out = Rows::<f32, VOCAB>::with_capacity(batch.logit_rows().len().max(1));
        out.set_rows(batch.logit_rows().len());
        let (mut spans, mut written) = (Vec::new(), 0);
        for sequence in batch.sequences() {
            let (pages, span) = (batch.pages(sequence), sequence.start..sequence.context());
            let mut last = span.start.checked_sub(1).map_or(0, |before| self.cell(pages, before).row);
            if let Some(slot) = sequence.state_slot.filter(|_| span.start > 0) {
                assert_eq!(self.states[slot.0 as usize], last, "slot {} is not where its sequence is", slot.0);
            }
            for (position, &token) in span.clone().zip(&batch.token_ids()[sequence.tokens.clone()]) {
                last = row(last, token, Some(&span).filter(|_| !self.any_chunking));
                let at = pages[position / size].0 as usize * size + position % size;
                self.cache[at] = Some(Cell { token, row: last });
            }
            if let Some(slot) = sequence.state_slot {
                self.states[slot.0 as usize] = last;
            }
            spans.push((sequence.start, batch.token_ids()[sequence.tokens.clone()].to_vec()));
            if batch.logit_rows().get(written) == Some(&(sequence.tokens.end - 1)) {
                let tokens: Vec<u32> = (0..span.end).map(|p| self.cell(pages, p).token).collect();
                out.row_mut(written).copy_from_slice((self.answer)(&tokens, last).row(0));
                written += 1;
            }
        }
        self.steps.lock().unwrap().push(spans);
        logits.write(&out);
        Ok(())
    }
}

impl SampledModel for Fake {
    fn step_sampled(&mut self, batch: &Batch, rows: &[RowSampling], chosen: &mut Vec<Option<u32>>) -> Result<(), StepError> {
        let mut logits = Logits::new(&INFO, rows.len().max(1));
        self.step(batch, &mut logits)?;
        assert_eq!(logits.rows(), rows.len(), "one for each row of logits");
        let best = |row: &[f32]| {
            let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            row.iter().position(|&l| l == most && l.is_finite()).map(|id| id as u32)
        };
        chosen.clear();
        chosen.extend((0..rows.len()).map(|row| best(logits.row(row))));
        if let Some(told) = &self.chooses {
            told.lock().unwrap().push(rows.to_vec());
        }
        Ok(())
    }
}
