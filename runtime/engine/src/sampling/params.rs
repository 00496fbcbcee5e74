//! What a request asks of sampling, and the ranges that it must keep to.

use std::sync::Arc;

use crate::rng::SplitMix64;

/// How tokens are chosen. The module's documentation has the order in which these apply.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingParams {
    /// 0 takes the most likely token; larger values flatten the distribution.
    pub temperature: f32,
    /// Keeps that many of the most likely tokens; 0 keeps all.
    pub top_k: u32,
    /// Keeps the fewest most likely tokens whose mass reaches this; 1 keeps all.
    pub top_p: f32,
    /// Keeps the tokens whose probability is at least this share of the most likely token's; 0 keeps all.
    pub min_p: f32,
    /// Lowers a token's logit by this for each time that the answer has it.
    pub frequency_penalty: f32,
    /// Lowers a token's logit by this when the answer has it.
    pub presence_penalty: f32,
    /// Divides a positive logit by this, and multiplies another, when prompt or answer have the token; 1 leaves it as it is.
    pub repetition_penalty: f32,
    /// Added to the logits of these tokens.
    pub logit_bias: Option<Arc<[(u32, f32)]>>,
    /// The same seed, parameters and logits choose the same tokens on every platform.
    pub seed: u64,
}

impl SamplingParams {
    /// The most likely token, always.
    pub const GREEDY: Self = Self {
        temperature: 0.0,
        top_k: 0,
        top_p: 1.0,
        min_p: 0.0,
        frequency_penalty: 0.0,
        presence_penalty: 0.0,
        repetition_penalty: 1.0,
        logit_bias: None,
        seed: 0,
    };

    /// Whether every parameter is in its range, and every biased token in a vocabulary of `vocab_size`.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, vocab_size: usize) -> Result<(), SamplingError> {
        let Self { temperature, top_p, min_p, frequency_penalty, presence_penalty, repetition_penalty, .. } = *self;
        if !(temperature.is_finite() && temperature >= 0.0) {
            return Err(SamplingError::Temperature(temperature));
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            return Err(SamplingError::TopP(top_p));
        }
        if !(0.0..=1.0).contains(&min_p) {
            return Err(SamplingError::MinP(min_p));
        }
        for (name, value) in [("frequency_penalty", frequency_penalty), ("presence_penalty", presence_penalty)] {
            if !(-2.0..=2.0).contains(&value) {
                return Err(SamplingError::Penalty { name, value });
            }
        }
        if !(0.01..=100.0).contains(&repetition_penalty) {
            return Err(SamplingError::Repetition(repetition_penalty));
        }
        for &(token, bias) in self.logit_bias.iter().flat_map(|bias| bias.iter()) {
            if token as usize >= vocab_size {
                return Err(SamplingError::BiasedToken { token, vocab_size });
            }
            if !(-100.0..=100.0).contains(&bias) {
                return Err(SamplingError::Bias { token, bias });
            }
        }
        Ok(())
    }

    /// True when tokens depend on the logits alone: neither on what the answer has already nor on a bias.
    pub(super) fn is_unadjusted(&self) -> bool {
        !self.counts_answer() && self.repetition_penalty == 1.0 && self.logit_bias.as_ref().is_none_or(|bias| bias.is_empty())
    }

    /// True when it matters how often the answer has a token.
    pub(super) fn counts_answer(&self) -> bool {
        self.frequency_penalty != 0.0 || self.presence_penalty != 0.0
    }
}

/// The seed of choice number `choice` of a request with this seed: that of choice 0 is the request's own, so that the first choice is
/// the same however many are asked for, and the others are far from it and from each other.
pub fn choice_seed(seed: u64, choice: usize) -> u64 {
    match choice {
        0 => seed,
        // Seeds of neighbouring requests must not meet in each other's choices, so that both go through the mixer.
        _ => SplitMix64::new(SplitMix64::new(seed).next() ^ choice as u64).next(),
    }
}

/// A sampling parameter outside its range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SamplingError {
    /// Temperatures are finite and not negative.
    #[error("temperature is {0}, and must be 0 or more")]
    Temperature(f32),
    /// `top_p` is a probability.
    #[error("top_p is {0}, and must be over 0 and at most 1")]
    TopP(f32),
    /// `min_p` is a share.
    #[error("min_p is {0}, and must be between 0 and 1")]
    MinP(f32),
    /// Frequency and presence penalties have OpenAI's range.
    #[error("{name} is {value}, and must be between -2 and 2")]
    Penalty {
        /// Which of the two.
        name: &'static str,
        /// Its value.
        value: f32,
    },
    /// A logit is divided by it, and must stay a number.
    #[error("repetition_penalty is {0}, and must be between 0.01 and 100")]
    Repetition(f32),
    /// A bias has OpenAI's range.
    #[error("logit_bias of token {token} is {bias}, and must be between -100 and 100")]
    Bias {
        /// The token.
        token: u32,
        /// Its bias.
        bias: f32,
    },
    /// A token that the model does not have.
    #[error("logit_bias names token {token}, and the vocabulary has {vocab_size}")]
    BiasedToken {
        /// The token.
        token: u32,
        /// The vocabulary.
        vocab_size: usize,
    },
}

impl SamplingError {
    /// The parameter, as requests spell it.
    pub fn param(&self) -> &'static str {
        match self {
            Self::Temperature(_) => "temperature",
            Self::TopP(_) => "top_p",
            Self::MinP(_) => "min_p",
            Self::Penalty { name, .. } => name,
            Self::Repetition(_) => "repetition_penalty",
            Self::Bias { .. } | Self::BiasedToken { .. } => "logit_bias",
        }
    }
}
