//! The gated delta rule over spans of one token.

#[path = "../delta_prefill/exact.rs"]
#[allow(dead_code)] // The kernel of the other spans shares it.
mod exact;

use exact::{Problem, Spans};
use tenon_device_cases::{Bench, Case, Params, StepCase, products};

/// Single tokens of new and old sequences, spans that another kernel serves, spans without a state, and padded rows.
pub fn cases(params: &Params) -> Vec<Case> {
    let sums = |problem: &Problem, _, largest| products(problem.key_dim, largest);
    let problem = |step, key_heads, value_heads| Problem::new(params, Spans::Decode, sums, step, key_heads, value_heads);
    let step = |spans: &[(usize, usize)]| StepCase::new(16, spans, 6);
    let mut without_state = step(&[(0, 1), (9, 1), (4, 1)]);
    (without_state.slots[0], without_state.slots[2]) = (-1, -1);
    let mut no_slot = step(&[(3, 1)]);
    no_slot.slots[0] = 100;
    vec![
        problem(step(&[(0, 1), (30, 5), (7, 1), (1, 1), (0, 1)]).padded(12), 2, 4).case("4 of 5 spans, 3 padded rows", 0),
        problem(without_state, 2, 6).case("spans without a state", 0),
        problem(no_slot, 1, 1).case("a slot that does not exist", 4),
    ]
}

/// Batches from one sequence on.
pub fn bench(params: &Params) -> Vec<Bench> {
    [(1, 1, 16, 64), (8, 1, 16, 64), (64, 1, 16, 64)].into_iter().map(|sizes| exact::bench(params, 100, sizes)).collect()
}
