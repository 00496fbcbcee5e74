//! Text in, text out: tokenizer, chat template, sampling, grammars, and the scheduler that drives a model.
//!
//! [`Engine`] knows token ids, pages and slots; [`Tokenizer`] and [`ChatTemplate`] know text; [`generate()`] joins them for one
//! answer.

pub mod constraint;
pub mod engine;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
pub mod generate;
pub mod grammar;
pub mod logprobs;
pub mod sampling;
pub mod stop;
pub mod template;
pub mod tokenizer;

mod free_list;
mod rng;

pub use constraint::{Constraint, ConstraintError, TokenSet};
pub use engine::{
    ChoiceError, ChosenToken, Engine, EngineConfig, EngineStats, Event, EventKind, FinishReason, Request, SequenceId, Usage,
};
pub use generate::{Generation, Progress, generate};
pub use grammar::{CompileError, GrammarFactory};
pub use logprobs::TokenLogprobs;
pub use rng::random_seed;
pub use sampling::{Sampler, SamplingParams, choice_seed};
pub use stop::StopMatcher;
pub use template::{ChatTemplate, Conversation};
pub use tokenizer::{Detokenizer, SpecialTokens, Tokenizer};
