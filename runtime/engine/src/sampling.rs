//! Choosing the next token from a row of logits.

use std::sync::Arc;

use tenon_core::model::RowSampling;

use crate::rng::SplitMix64;

/// How tokens are chosen.
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
}

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
    candidates: Vec<(u32, f64)>,
}

impl Sampler {
    /// A sampler at the start of its random sequence.
    pub fn new(params: SamplingParams) -> Result<Self, SamplingError> {
        let SamplingParams { temperature, top_p, seed, .. } = params;
        if !(temperature.is_finite() && temperature >= 0.0) {
            return Err(SamplingError::Temperature(temperature));
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            return Err(SamplingError::TopP(top_p));
        }
        Ok(Self { params, rng: SplitMix64::new(seed), candidates: Vec::new() })
    }

    /// How a device chooses the next token, as [`Self::sample`] would from its logits. The device computes in f32, so that a token whose
    /// share ends within a rounding of the random number may be another.
    pub fn row(&mut self) -> RowSampling {
        let SamplingParams { temperature, top_k, top_p, .. } = self.params;
        if temperature == 0.0 || top_k == 1 {
            return RowSampling::GREEDY;
        }
        // Rounding down, since 1 is not below 1.
        let random = ((self.rng.unit() * f64::from(1 << 24)).floor() / f64::from(1 << 24)) as f32;
        RowSampling { temperature, top_k, top_p, random }
    }

    /// The next token. Temperature is applied first, then `top_k`, then `top_p`, as Hugging Face's `generate` does.
    pub fn sample(&mut self, logits: &[f32]) -> Result<u32, LogitsError> {
        let (best, max) = argmax(logits)?;
        if self.params.temperature == 0.0 || self.params.top_k == 1 {
            return Ok(best);
        }
        let scale = 1.0 / f64::from(self.params.temperature);
        let weights = logits.iter().map(|&l| exp((f64::from(l) - f64::from(max)) * scale));
        self.candidates.clear();
        self.candidates.extend((0u32..).zip(weights));
        self.keep_top_k();
        let mass = self.keep_top_p();

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
mod tests {
    use super::*;

    fn counts(params: SamplingParams, logits: &[f32], draws: usize) -> Vec<usize> {
        let mut sampler = Sampler::new(params).unwrap();
        let mut counts = vec![0; logits.len()];
        for _ in 0..draws {
            counts[sampler.sample(logits).unwrap() as usize] += 1;
        }
        counts
    }

    const PARAMS: SamplingParams = SamplingParams { temperature: 1.0, seed: 1, ..SamplingParams::GREEDY };

    #[test]
    fn greedy_takes_the_lowest_id_of_a_tie() {
        let mut sampler = Sampler::new(SamplingParams::GREEDY).unwrap();
        assert_eq!(sampler.sample(&[0.0, 2.0, 2.0, -1.0]), Ok(1));
        assert_eq!(sampler.sample(&[-0.0, 0.0]), Ok(0));
        assert_eq!(sampler.sample(&[f32::NEG_INFINITY, -3e38]), Ok(1));
    }

    #[test]
    fn broken_logits_are_an_error_and_not_a_token() {
        let mut sampler = Sampler::new(PARAMS).unwrap();
        let nan = sampler.sample(&[0.0, f32::NAN]).unwrap_err();
        assert_eq!(nan.to_string(), "the logit of token 1 is NaN: the model or its weights are broken");
        assert!(matches!(sampler.sample(&[f32::INFINITY]), Err(LogitsError::NotANumber { token: 0, .. })));
        assert_eq!(sampler.sample(&[f32::NEG_INFINITY; 2]), Err(LogitsError::Nothing));
    }

    #[test]
    fn frequencies_follow_the_distribution() {
        let logits = [3f32, 2.0, 1.0, 0.0].map(f32::ln);
        let counts = counts(PARAMS, &logits, 60_000);
        assert_eq!(counts[3], 0, "a logit of -inf has no mass");
        for (count, expected) in counts.iter().zip([30_000.0, 20_000.0, 10_000.0]) {
            // Five standard deviations of a binomial.
            assert!((*count as f64 - expected).abs() < 5.0 * 122.5, "{counts:?}");
        }
    }

    #[test]
    fn top_k_and_top_p_cut_the_tail() {
        let logits = [0.0f32, 3.0, 2.0, 3.0, 1.0];
        let kept = |params| counts(params, &logits, 4_000).iter().map(|&c| c > 0).collect::<Vec<_>>();
        assert_eq!(kept(SamplingParams { top_k: 3, ..PARAMS }), [false, true, true, true, false]);
        // The two largest have 0.783 of the mass, each 0.391.
        assert_eq!(kept(SamplingParams { top_p: 0.38, ..PARAMS }), [false, true, false, false, false]);
        assert_eq!(kept(SamplingParams { top_p: 0.70, ..PARAMS }), [false, true, false, true, false]);
        assert_eq!(kept(SamplingParams { top_p: 0.79, ..PARAMS }), [false, true, true, true, false]);
        assert_eq!(kept(SamplingParams { top_k: 1, ..PARAMS }), [false, true, false, false, false]);
        assert_eq!(kept(SamplingParams { top_p: 0.999_999, ..PARAMS }), [true; 5]);
    }

    #[test]
    fn top_p_over_a_flat_vocabulary_keeps_the_lowest_ids() {
        // Wider than the first heads that are sorted, so the loop must grow them.
        let params = SamplingParams { top_p: 0.5, ..PARAMS };
        let counts = counts(params, &[0.0; 1_000], 4_000);
        assert!(counts[..500].iter().filter(|&&c| c > 0).count() > 490);
        assert_eq!(counts[500..].iter().sum::<usize>(), 0);
    }

    #[test]
    fn a_seed_fixes_the_sequence() {
        let logits: Vec<f32> = (0..50).map(|i| ((i * 37) % 11) as f32 * 0.3).collect();
        let draw = |seed| {
            let mut sampler = Sampler::new(SamplingParams { top_p: 0.9, temperature: 0.8, seed, ..PARAMS }).unwrap();
            (0..8).map(|_| sampler.sample(&logits).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(draw(42), draw(42));
        assert_ne!(draw(42), draw(43));
    }

    #[test]
    fn a_row_draws_what_a_sample_would_draw() {
        let (mut row, mut sample) = (Sampler::new(PARAMS).unwrap(), Sampler::new(PARAMS).unwrap());
        // Of 1,000 equal tokens the random number names one.
        for _ in 0..50 {
            let RowSampling { temperature, random, .. } = row.row();
            assert_eq!((temperature, sample.sample(&[0.0; 1000])), (1.0, Ok((f64::from(random) * 1000.0) as u32)));
        }
        let mut greedy = Sampler::new(SamplingParams { top_k: 1, ..PARAMS }).unwrap();
        assert_eq!(greedy.row(), RowSampling::GREEDY);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for (params, text) in [
            (SamplingParams { temperature: -0.5, ..PARAMS }, "temperature is -0.5, and must be 0 or more"),
            (SamplingParams { temperature: f32::NAN, ..PARAMS }, "temperature is NaN, and must be 0 or more"),
            (SamplingParams { top_p: 0.0, ..PARAMS }, "top_p is 0, and must be over 0 and at most 1"),
            (SamplingParams { top_p: 1.5, ..PARAMS }, "top_p is 1.5, and must be over 0 and at most 1"),
        ] {
            assert_eq!(Sampler::new(params).unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn exp_agrees_with_libm() {
        for i in 0..=70_800 {
            let x = -f64::from(i) / 100.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 2e-15, "exp({x})");
        }
        assert_eq!((exp(0.0), exp(-709.0), exp(f64::NEG_INFINITY)), (1.0, 0.0, 0.0));
    }
}
