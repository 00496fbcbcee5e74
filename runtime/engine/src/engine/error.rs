//! Why an engine refuses a configuration or a request, or cannot go on.

use tenon_core::batch::BatchError;
use tenon_core::model::{StateError, StepError};

use crate::sampling::SamplingError;

/// Why a model cannot be driven with a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A setting is zero.
    #[error("{name} must be at least 1")]
    Zero {
        /// The setting.
        name: &'static str,
    },
    /// A chunk beside every other sequence's token would not fit into a step, so that prompts could starve.
    #[error(
        "a chunk of {chunk} beside {others} other sequences needs steps of {needed} tokens, and step_tokens is {step_tokens}"
    )]
    Step {
        /// Tokens of a chunk.
        chunk: usize,
        /// Sequences beside the one with the chunk.
        others: usize,
        /// Tokens that a step needs.
        needed: usize,
        /// Tokens that a step may have.
        step_tokens: usize,
    },
    /// Steps with more tokens than the model takes.
    #[error("steps of {step_tokens} tokens are asked for, and the model was loaded for {max_tokens}")]
    StepTokens {
        /// What is asked for.
        step_tokens: usize,
        /// What the model takes.
        max_tokens: usize,
    },
    /// More snapshots than the model has.
    #[error("{snapshots} snapshots are asked for, and the model was loaded with {loaded}")]
    Snapshots {
        /// What is asked for.
        snapshots: usize,
        /// What the model has.
        loaded: usize,
    },
    /// Fewer rows of logits than sequences.
    #[error("{max_sequences} sequences need as many rows of logits, and the model was loaded for {max_logit_rows}")]
    LogitRows {
        /// Sequences.
        max_sequences: usize,
        /// Rows.
        max_logit_rows: usize,
    },
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SubmitError {
    /// There is nothing to continue.
    #[error("the prompt has no tokens")]
    EmptyPrompt,
    /// Nothing is asked for.
    #[error("max_tokens is 0, and must be at least 1")]
    NoTokens,
    /// The prompt leaves no room for an answer.
    #[error("the prompt has {prompt} tokens, and the context of {context} must hold it and at least one more")]
    PromptTooLong {
        /// Tokens of the prompt.
        prompt: usize,
        /// Tokens that the context holds.
        context: usize,
    },
    /// Prompt and answer together are too long.
    #[error("the prompt has {prompt} tokens and max_tokens is {max_tokens}, together {}, and the context holds {context}", prompt + max_tokens)]
    TooLong {
        /// Tokens of the prompt.
        prompt: usize,
        /// Tokens of the answer.
        max_tokens: usize,
        /// Tokens that the context holds.
        context: usize,
    },
    /// A token id that the model does not have.
    #[error("token id {token} of the prompt is outside the model's vocabulary of {vocab_size}")]
    Token {
        /// The id.
        token: u32,
        /// The vocabulary.
        vocab_size: usize,
    },
    /// A sampling parameter is out of range.
    #[error(transparent)]
    Sampling(#[from] SamplingError),
}

/// Why a step failed; a bug of the engine or of the model, not of a request.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The scheduler built a batch that is not valid.
    #[error("the scheduler built an invalid batch: {0}")]
    Batch(#[from] BatchError),
    /// The model refused the batch.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The model did not save or restore a recurrent state.
    #[error(transparent)]
    State(#[from] StateError),
}
