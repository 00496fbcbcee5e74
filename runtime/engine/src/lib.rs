//! Text in, text out: tokenizer, chat template, sampling, and the scheduler that drives a model.
//!
//! [`Engine`] knows token ids, pages and slots; [`Tokenizer`] and [`ChatTemplate`] know text; [`generate()`] joins them for one
//! answer.

pub mod engine;
pub mod generate;
pub mod sampling;
pub mod template;
pub mod tokenizer;

#[cfg(test)]
mod fake;
mod free_list;
mod rng;

pub use engine::{Engine, EngineConfig, Event, EventKind, FinishReason, Request, SequenceId, Usage};
pub use generate::{Generation, Progress, generate};
pub use rng::random_seed;
pub use sampling::{Sampler, SamplingParams};
pub use template::{ChatTemplate, Conversation};
pub use tokenizer::{Detokenizer, SpecialTokens, Tokenizer};
