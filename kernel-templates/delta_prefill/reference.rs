//! The gated delta rule over spans of several tokens, token by token.

#[path = "exact.rs"]
#[allow(dead_code)] // The kernel of the other spans shares it.
mod exact;

use exact::{Problem, Spans};
use tenon_device_cases::{Bench, Case, Params, StepCase, U_BF16, from_bf16, to_bf16};

/// What is left of a number that is split into two bf16: half a unit of the low one, which is at most half a unit of the high one.
const SPLIT: f64 = U_BF16 * U_BF16;

/// What the splits of the state, of what is written and of the matrices of pairs add after some tokens. Each token's error is at most
/// SPLIT of the largest number, and a sixth of that on average; they are independent, so they grow as the square root of the tokens, and
/// the rule only shrinks them.
fn splits(_: &Problem, tokens: usize, largest: f64) -> f64 {
    (tokens as f64).sqrt() * SPLIT * largest
}

/// Spans of several chunks that start within one, short ones, single tokens that another kernel serves, keys that are alike, and padding.
pub fn cases(params: &Params) -> Vec<Case> {
    let spans = [(0, 140), (37, 90), (5, 1), (64, 64), (70, 2), (0, 3)];
    let problem = |step, key_heads, value_heads| Problem::new(params, Spans::Prefill, splits, step, key_heads, value_heads);
    let step = |spans: &[(usize, usize)]| StepCase::new(48, spans, 5);
    let tokens: usize = spans.iter().map(|(_, tokens)| tokens).sum();
    let mut without_state = step(&[(0, 20), (9, 70), (3, 17)]);
    (without_state.slots[0], without_state.slots[1]) = (-1, -1);
    // One token forgets everything: the sum of logarithms becomes large, and what comes after it still differs by little.
    let mut forgets = problem(step(&[(10, 140)]), 1, 2);
    forgets.decay = vec![-4.0, -0.05];
    forgets.dt_bias = vec![-4.0, -3.0];
    forgets.a[23 * 2] = 300_000.0;
    // Keys that hardly differ, all of them written in full: the triangular system is far from the identity.
    let mut alike = problem(step(&[(3, 130)]), 1, 1);
    let width = alike.qkv.len() / 130;
    for row in 0..130 {
        for n in alike.key_dim..2 * alike.key_dim {
            let noise = from_bf16(alike.qkv[row * width + n]) as f32;
            alike.qkv[row * width + n] = to_bf16(1.0 + 0.2 * noise);
        }
    }
    alike.b.fill(3.0);
    alike.dt_bias.fill(-5.0);
    let mut no_slot = step(&[(0, 33)]);
    no_slot.slots[0] = 100;
    vec![
        problem(step(&spans).padded(tokens + 3), 2, 4).case("6 spans, 3 padded rows", 0),
        problem(without_state, 2, 2).case("spans without a state", 0),
        forgets.case("a token that forgets everything", 0),
        alike.case("keys that are alike", 0),
        problem(no_slot, 1, 1).case("a slot that does not exist", 4),
    ]
}

/// One long prompt with the heads of a smaller and of a larger model, and several of a usual length.
pub fn bench(params: &Params) -> Vec<Bench> {
    [(1, 32768, 16, 32), (1, 32768, 16, 64), (8, 2048, 16, 64)].into_iter().map(|sizes| exact::bench(params, 0, sizes)).collect()
}
