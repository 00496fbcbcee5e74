//! Choosing the next token from a row of logits.
//!
//! What a request asks applies in this order:
//! 1. `repetition_penalty` to the model's logits, for every token of prompt and answer, as Hugging Face defines it;
//! 2. `frequency_penalty` and `presence_penalty`, for the tokens of the answer, as OpenAI defines them;
//! 3. `logit_bias`;
//! 4. the mask of a constraint: a token that it does not allow is never chosen, whatever its bias;
//! 5. `temperature`; at 0 the most likely token is the choice, of equal ones that with the lowest id, and what follows says nothing;
//! 6. `top_k`, `top_p` and `min_p`, each of what the one before has left.
//!
//! Log-probabilities ([`crate::TokenLogprobs`]) are those of the model's logits, before all of this.

mod adjust;
mod params;

use tenon_core::model::RowSampling;

use crate::constraint::TokenSet;
use crate::rng::SplitMix64;

use adjust::Adjustments;
pub use params::{SamplingError, SamplingParams, choice_seed};

/// Logits that no token can be chosen from.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum LogitsError {
    /// A NaN or an infinity where a number should be.
    #[error("the logit of token {token} is {value}: the model or its weights are broken")]
    NotANumber {
        /// The token.
        token: usize,
        /// Its logit.
        value: f32,
    },
    /// Every token is masked out.
    #[error("no token has a logit over -inf")]
    Nothing,
    /// One of the two, seen where the logits are.
    #[error("a logit is no number, or none is over -inf: the model or its weights are broken")]
    Broken,
}

/// Chooses the tokens of one sequence.
#[derive(Clone, Debug)]
pub struct Sampler {
    params: SamplingParams,
    rng: SplitMix64,
    adjustments: Adjustments,
    candidates: Vec<(u32, f64)>,
}

impl Sampler {
    /// A sampler at the start of its random sequence, for the answer to a prompt.
    ///
    /// # Errors
    /// When a parameter is outside its range. Biased tokens are held against the vocabulary by [`SamplingParams::check`] alone, and
    /// one outside of it changes nothing.
    pub fn new(params: SamplingParams, prompt: &[u32]) -> Result<Self, SamplingError> {
        params.check(usize::MAX)?;
        let (rng, adjustments) = (SplitMix64::new(params.seed), Adjustments::new(&params, prompt));
        Ok(Self { params, rng, adjustments, candidates: Vec::new() })
    }

    /// Takes note of a token of the answer, which penalties count.
    pub fn observe(&mut self, token: u32) {
        self.adjustments.observe(&self.params, token);
    }

    /// True when [`Self::row`] says everything that is asked for, so that a device may choose.
    pub fn is_plain(&self) -> bool {
        self.params.is_unadjusted() && (self.params.min_p == 0.0 || self.is_greedy())
    }

    fn is_greedy(&self) -> bool {
        self.params.temperature == 0.0 || self.params.top_k == 1
    }

    /// How a device chooses the next token, as [`Self::sample`] would from its logits. The device computes in f32, so that a token whose
    /// share ends within a rounding of the random number may be another. Only for a sampler that [is plain](Self::is_plain).
    pub fn row(&mut self) -> RowSampling {
        let SamplingParams { temperature, top_k, top_p, .. } = self.params;
        if self.is_greedy() {
            return RowSampling::GREEDY;
        }
        // Rounding down, since 1 is not below 1.
        let random = ((self.rng.unit() * f64::from(1 << 24)).floor() / f64::from(1 << 24)) as f32;
        RowSampling { temperature, top_k, top_p, random }
    }

    /// The next token, one of the allowed.
    ///
    /// # Errors
    /// When a logit is no number, or no token is left to choose.
    pub fn sample(&mut self, logits: &[f32], allowed: Option<&TokenSet>) -> Result<u32, LogitsError> {
        let greedy = self.is_greedy();
        let logits = self.adjustments.apply(&self.params, logits, allowed).unwrap_or(logits);
        let (best, max) = argmax(logits)?;
        if greedy {
            return Ok(best);
        }
        let scale = 1.0 / f64::from(self.params.temperature);
        let weights = logits.iter().map(|&l| exp((f64::from(l) - f64::from(max)) * scale));
        self.candidates.clear();
        self.candidates.extend((0u32..).zip(weights));
        self.keep_top_k();
        let mass = self.keep_top_p();
        let mass = self.keep_min_p(mass);

        let mut rest = self.rng.unit() * mass;
        for &(id, weight) in &self.candidates {
            rest -= weight;
            if rest < 0.0 {
                return Ok(id);
            }
        }
        // Rounding left a sliver of mass beyond the last candidate that has any.
        Ok(self.candidates.iter().rev().find(|c| c.1 > 0.0).map_or(best, |c| c.0))
    }

    fn keep_top_k(&mut self) {
        let k = self.params.top_k as usize;
        if k > 0 && k < self.candidates.len() {
            self.candidates.select_nth_unstable_by(k - 1, more_likely);
            self.candidates.truncate(k);
            // The selection leaves them in an order that the standard library does not promise to keep.
            self.candidates.sort_unstable_by_key(|c| c.0);
        }
    }

    /// Returns the mass that is kept.
    fn keep_top_p(&mut self) -> f64 {
        let total: f64 = self.candidates.iter().map(|c| c.1).sum();
        if self.params.top_p >= 1.0 {
            return total;
        }
        let wanted = f64::from(self.params.top_p) * total;
        // Mass is concentrated: sorting a growing head is much cheaper than sorting a vocabulary.
        let mut head = 64;
        loop {
            if head < self.candidates.len() {
                self.candidates.select_nth_unstable_by(head - 1, more_likely);
            }
            let sorted = head.min(self.candidates.len());
            self.candidates[..sorted].sort_unstable_by(more_likely);
            let mut mass = 0.0;
            for i in 0..sorted {
                mass += self.candidates[i].1;
                if mass >= wanted {
                    self.candidates.truncate(i + 1);
                    return mass;
                }
            }
            if sorted == self.candidates.len() {
                return mass;
            }
            head *= 8;
        }
    }

    /// Returns the mass that is kept. The most likely token has weight 1, so that weights are shares of its probability.
    fn keep_min_p(&mut self, mass: f64) -> f64 {
        if self.params.min_p == 0.0 {
            return mass;
        }
        let least = f64::from(self.params.min_p);
        self.candidates.retain(|c| c.1 >= least);
        self.candidates.iter().map(|c| c.1).sum()
    }
}

/// The larger weight first, ties by the lower id.
fn more_likely(a: &(u32, f64), b: &(u32, f64)) -> std::cmp::Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

/// The largest logit; ties go to the lowest id.
fn argmax(logits: &[f32]) -> Result<(u32, f32), LogitsError> {
    let mut best = None;
    for (token, &value) in logits.iter().enumerate() {
        if value.is_nan() || value == f32::INFINITY {
            return Err(LogitsError::NotANumber { token, value });
        }
        if value > best.map_or(f32::NEG_INFINITY, |(_, max)| max) {
            best = Some((token as u32, value));
        }
    }
    best.ok_or(LogitsError::Nothing)
}

/// `e^x` for `x <= 0`, from basic operations only, since libm's differs between platforms. Within 1e-15 relative; 0 below -708.
pub(crate) fn exp(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    if x < -708.0 {
        return 0.0;
    }
    let n = (x * std::f64::consts::LOG2_E).round();
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    // Taylor: |r| <= 0.35, so the 15th term is under 1e-19.
    let series = (1..=14).rev().fold(1.0, |sum, k| 1.0 + sum * r / f64::from(k));
    series * f64::from_bits(((1023 + n as i64) as u64) << 52)
}

#[cfg(test)]
mod tests;
