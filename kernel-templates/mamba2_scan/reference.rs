//! The recurrence of Mamba2 over spans of several tokens, token by token.

#[path = "exact.rs"]
#[allow(dead_code)] // The kernel of the other spans shares it.
mod exact;

use exact::{Problem, Spans};
use tenon_device_cases::{Bench, Case, Params, StepCase, U_BF16};

/// What is left of a number that is split into two bf16: half a unit of the low one, which is at most half a unit of the high one.
const SPLIT: f64 = U_BF16 * U_BF16;
/// Spans of several chunks that start within one, short ones, single tokens that another kernel serves, and padded rows.
pub fn cases(params: &Params) -> Vec<Case> {
    let spans = [(0, 150), (37, 100), (5, 1), (64, 64), (70, 2), (0, 3)];
    let problem = |step, heads, groups, least| Problem::new(params, Spans::Prefill, SPLIT, step, heads, groups, least);
    let step = |spans: &[(usize, usize)]| StepCase::new(48, spans, 5);
    let tokens: usize = spans.iter().map(|(_, tokens)| tokens).sum();
    let mut without_state = step(&[(0, 20), (9, 70), (3, 17)]);
    (without_state.slots[0], without_state.slots[1]) = (-1, -1);
    // One token forgets everything: the sum of logarithms becomes large, and what comes after it still differs by little.
    let mut forgets = problem(step(&[(10, 140)]), 2, 1, 0.0);
    forgets.decay = vec![-4.0, -0.05];
    forgets.dt_bias = vec![-4.0, -3.0];
    forgets.dt[23 * 2] = 300_000.0;
    let mut no_slot = step(&[(0, 33)]);
    no_slot.slots[0] = 100;
    vec![
        problem(step(&spans).padded(tokens + 3), 4, 2, 0.0).case("6 spans, 3 padded rows", 0),
        problem(without_state, 2, 2, 0.05).case("spans without a state, least time step", 0),
        forgets.case("a token that forgets everything", 0),
        problem(no_slot, 1, 1, 0.0).case("a slot that does not exist", 4),
    ]
}

/// One long prompt, and several of a usual length.
pub fn bench(params: &Params) -> Vec<Bench> {
    [(1, 32768), (8, 2048)].into_iter().map(|sizes| exact::bench(params, 0, sizes)).collect()
}
