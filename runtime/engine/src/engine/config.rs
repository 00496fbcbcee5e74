//! How an engine schedules, and what it has done.

use tenon_core::model::Model;

use super::ConfigError;

/// How an engine schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// Prompts are computed in chunks that end at multiples of this many tokens.
    pub chunk: usize,
    /// Most sequences that compute at the same time; others wait.
    pub max_sequences: usize,
    /// Most tokens of one step, of answers and prompts together.
    pub step_tokens: usize,
    /// Snapshots of recurrent states for which the model was loaded; not read where no layer is recurrent.
    pub snapshots: usize,
    /// Most tokens of one sequence; `None` is what the model and its cache hold.
    pub context: Option<usize>,
    /// Whether sequences share what they have in common, and find what earlier ones have left in the cache.
    pub prefix_cache: bool,
}

impl EngineConfig {
    /// A step holds one chunk beside a token of every other sequence; prefixes are shared, without snapshots.
    pub const fn new(chunk: usize, max_sequences: usize) -> Self {
        let step_tokens = chunk.saturating_add(max_sequences.saturating_sub(1));
        Self { chunk, max_sequences, step_tokens, snapshots: 0, context: None, prefix_cache: true }
    }

    /// Refuses what a model cannot run, and steps under which prompts could starve.
    pub(super) fn check(&self, model: &dyn Model) -> Result<(), ConfigError> {
        let limits = model.limits();
        let Self { chunk, max_sequences, step_tokens, snapshots, .. } = *self;
        for (name, value) in [("chunk", chunk), ("max_sequences", max_sequences)] {
            if value == 0 {
                return Err(ConfigError::Zero { name });
            }
        }
        let others = max_sequences - 1;
        let needed = chunk.saturating_add(others);
        if needed > step_tokens {
            return Err(ConfigError::Step { chunk, others, needed, step_tokens });
        }
        if step_tokens > limits.max_tokens {
            return Err(ConfigError::StepTokens { step_tokens, max_tokens: limits.max_tokens });
        }
        if max_sequences > limits.max_logit_rows {
            return Err(ConfigError::LogitRows { max_sequences, max_logit_rows: limits.max_logit_rows });
        }
        let (each, held) = (model.info().state_bytes_per_slot, model.memory().snapshots);
        if limits.state_slots > 0 && snapshots.saturating_mul(each) > held {
            return Err(ConfigError::Snapshots { snapshots, loaded: held / each });
        }
        Ok(())
    }
}

/// What an engine holds at the moment, and what it has done since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// Sequences that wait.
    pub waiting: usize,
    /// Sequences that compute.
    pub running: usize,
    /// Pages of the cache.
    pub pages: usize,
    /// Those that running sequences use.
    pub pages_used: usize,
    /// Those that nobody uses, and that a later prompt may find: they are taken when room is needed.
    pub pages_cached: usize,
    /// Snapshots of recurrent states.
    pub snapshots: usize,
    /// Those that hold a state.
    pub snapshots_used: usize,
    /// Tokens of prompts that were found in the cache, and not computed.
    pub prefix_hit_tokens: u64,
    /// Tokens of prompts that were computed, each counted once.
    pub prompt_tokens: u64,
    /// Tokens that were computed again, after their pages were given up.
    pub recomputed_tokens: u64,
    /// Tokens that were chosen, end tokens included.
    pub generated_tokens: u64,
    /// Times that a sequence gave up its pages and went back to the queue.
    pub preemptions: u64,
    /// Steps with anything to compute.
    pub steps: u64,
    /// Sequences of the last step.
    pub batch_sequences: usize,
    /// Tokens of the last step.
    pub batch_tokens: usize,
}
