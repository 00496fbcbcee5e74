//! How likely a token was: its log-probability, and those of the tokens that were most likely.

use crate::sampling::exp;

/// Log-probabilities of one token and of its alternatives, natural logarithms, over the model's own distribution: before
/// penalties, bias, mask, temperature and what they leave out, so that a value means the same in every request.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLogprobs {
    /// Of the token that was chosen.
    pub logprob: f32,
    /// The most likely tokens, the likeliest first and ties by the lower id, as asked for; the chosen one may be among them.
    pub top: Vec<(u32, f32)>,
}

impl TokenLogprobs {
    /// Of `chosen`, and of the `top` most likely tokens. `logits` has one finite maximum at least, which sampling has checked.
    pub fn of(logits: &[f32], chosen: u32, top: usize) -> Self {
        let max = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        // In f64 and in the order of ids, so that the same logits give the same bits.
        let mass: f64 = logits.iter().map(|&l| exp(f64::from(l) - max)).sum();
        let log_mass = max + mass.ln();
        let logprob = |logit: f32| (f64::from(logit) - log_mass) as f32;
        let likeliest = most_likely(logits, top).into_iter().map(|(id, logit)| (id, logprob(logit))).collect();
        Self { logprob: logprob(logits[chosen as usize]), top: likeliest }
    }
}

/// The `count` largest logits with their ids, the largest first.
fn most_likely(logits: &[f32], count: usize) -> Vec<(u32, f32)> {
    if count == 0 {
        return Vec::new();
    }
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    // Adding 0 makes -0 equal to 0, as it is where the most likely token is chosen.
    let mut all: Vec<(u32, f32)> = (0u32..).zip(logits.iter().map(|l| l + 0.0)).collect();
    if count < all.len() {
        all.select_nth_unstable_by(count - 1, order);
        all.truncate(count);
    }
    all.sort_unstable_by(order);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::{Sampler, SamplingParams};

    #[test]
    fn probabilities_are_those_of_softmax() {
        let logits = [3f32, 2.0, 1.0, 0.0].map(f32::ln);
        let of = TokenLogprobs::of(&logits, 1, 3);
        for (found, expected) in [of.logprob, of.top[0].1, of.top[2].1].into_iter().zip([2.0, 3.0, 1.0]) {
            assert!((found.exp() - expected / 6.0).abs() < 1e-6, "{of:?}");
        }
        assert_eq!(of.top.iter().map(|t| t.0).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(TokenLogprobs::of(&logits, 3, 0), TokenLogprobs { logprob: f32::NEG_INFINITY, top: vec![] });
        assert_eq!(TokenLogprobs::of(&logits, 0, 9).top.len(), 4);
    }

    #[test]
    fn large_and_close_logits_keep_their_digits() {
        // exp(1000) overflows, and a sum of a vocabulary in f32 has too few digits.
        let mut logits = vec![1000.0f32; 50_000];
        logits[7] = 1000.0625;
        let of = TokenLogprobs::of(&logits, 7, 1);
        let exact = 0.0625 - (0.0625f64.exp() + 49_999.0).ln();
        assert!((f64::from(of.logprob) - exact).abs() < 1e-6, "{} and {exact}", of.logprob);
    }

    #[test]
    fn the_greedy_token_is_the_first_also_in_a_tie() {
        for logits in [[0.0f32, 2.0, 2.0, -1.0], [-0.0, 0.0, -5.0, -5.0], [-1.0, -1.0, -1.0, f32::NEG_INFINITY]] {
            let greedy = Sampler::new(SamplingParams::GREEDY, &[]).unwrap().sample(&logits, None).unwrap();
            let of = TokenLogprobs::of(&logits, greedy, 2);
            assert_eq!(of.top[0], (greedy, of.logprob), "{logits:?}");
        }
    }
}
