//! A model for tests, here and in crates that drive an engine: it checks what it is fed and answers from a script.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tenon_core::batch::{Batch, BatchLimits, PageId};
use tenon_core::dtype::KvDtypeName;
use tenon_core::model::{ChatTemplate, Logits, Memory, Model, ModelInfo, RowSampling, SampledModel, SamplingDefaults, StepError};
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

/// Logits of the next token, given a whole sequence.
type Answer = dyn Fn(&[u32]) -> Rows<f32, VOCAB> + Send;

/// Remembers tokens per page like a cache, so that a wrong page table or a skipped token shows.
pub struct Fake {
    limits: BatchLimits,
    cache: HashMap<(PageId, usize), u32>,
    answer: Box<Answer>,
    steps: Arc<Mutex<Vec<Spans>>>,
    chooses: Option<Chosen>,
}

/// How the rows of each step were to be chosen.
pub type Chosen = Arc<Mutex<Vec<Vec<RowSampling>>>>;

impl Fake {
    /// Logits are a function of the whole sequence, read back from the cache.
    pub fn new(limits: BatchLimits, answer: impl Fn(&[u32]) -> Rows<f32, VOCAB> + Send + 'static) -> Self {
        Self { limits, cache: HashMap::new(), answer: Box::new(answer), steps: Arc::default(), chooses: None }
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

    fn sampled(&mut self) -> Option<&mut dyn SampledModel> {
        self.chooses.is_some().then_some(self)
    }

    fn step(&mut self, batch: &Batch, logits: &mut Logits) -> Result<(), StepError> {
        let size = self.limits.page_size;
        let mut out = Rows::<f32, VOCAB>::with_capacity(batch.logit_rows().len().max(1));
        out.set_rows(batch.logit_rows().len());
        let (mut spans, mut row) = (Vec::new(), 0);
        for sequence in batch.sequences() {
            let pages = batch.pages(sequence);
            for (i, &token) in batch.token_ids()[sequence.tokens.clone()].iter().enumerate() {
                let position = sequence.start + i;
                self.cache.insert((pages[position / size], position % size), token);
            }
            spans.push((sequence.start, batch.token_ids()[sequence.tokens.clone()].to_vec()));
            if batch.logit_rows().get(row) == Some(&(sequence.tokens.end - 1)) {
                let tokens: Vec<u32> = (0..sequence.context()).map(|p| self.cache[&(pages[p / size], p % size)]).collect();
                out.row_mut(row).copy_from_slice((self.answer)(&tokens).row(0));
                row += 1;
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
