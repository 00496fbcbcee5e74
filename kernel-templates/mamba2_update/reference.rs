//! The recurrence of Mamba2 over spans of one token.

#[path = "../mamba2_scan/exact.rs"]
#[allow(dead_code)] // The kernel of the other spans shares it.
mod exact;

use exact::{Problem, Spans};
use tenon_device_cases::{Bench, Case, Params, StepCase};

/// Single tokens of new and old sequences, spans that another kernel serves, spans without a state, and padded rows.
pub fn cases(params: &Params) -> Vec<Case> {
    let problem = |step, heads, groups, least| Problem::new(params, Spans::Decode, 0.0, step, heads, groups, least);
    let step = |spans: &[(usize, usize)]| StepCase::new(16, spans, 6);
    let mut without_state = step(&[(0, 1), (9, 1), (4, 1)]);
    (without_state.slots[0], without_state.slots[2]) = (-1, -1);
    let mut no_slot = step(&[(3, 1)]);
    no_slot.slots[0] = 100;
    // As slow as 1e-30 is a decay.
    let mut no_decay = problem(step(&[(3, 1), (8, 1)]), 4, 2, 0.0);
    no_decay.decay = vec![0.5, -1e-30, 0.0, f32::NAN];
    let mut slowest = problem(step(&[(3, 1)]), 2, 1, 0.0);
    slowest.decay = vec![-1e-30, -f32::MIN_POSITIVE];
    vec![
        problem(step(&[(0, 1), (30, 5), (7, 1), (1, 1), (0, 1)]).padded(12), 4, 2, 0.0).case("4 of 5 spans, 3 padded rows", 0),
        problem(without_state, 6, 2, 0.05).case("spans without a state, least time step", 0),
        problem(no_slot, 1, 1, 0.0).case("a slot that does not exist", 4),
        no_decay.case("rates of decay that are not below 0", 64),
        slowest.case("the slowest rates of decay", 0),
    ]
}

/// Batches from one sequence on.
pub fn bench(params: &Params) -> Vec<Bench> {
    [(1, 1), (8, 1), (64, 1)].into_iter().map(|sizes| exact::bench(params, 100, sizes)).collect()
}
