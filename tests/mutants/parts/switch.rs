//! The switch of the mutants: which one of them is on, in this process.

use std::sync::atomic::{AtomicU32, Ordering};

/// Nobody has said yet.
const UNSET: u32 = u32::MAX;

static ON: AtomicU32 = AtomicU32::new(UNSET);

/// Whether mutant `number` is on. They are counted from 1.
#[inline(always)]
pub fn on(number: u32) -> bool {
    let on = ON.load(Ordering::Relaxed);
    (if on == UNSET { of_the_process() } else { on }) == number
}

/// Turns one mutant on and all others off; with 0, all are off.
pub fn set(number: u32) {
    ON.store(number, Ordering::Relaxed);
}

/// What the environment says: tests of rustc's own kind have no main that could turn one on.
#[cold]
fn of_the_process() -> u32 {
    let number = std::env::var("TENON_MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    set(number);
    number
}
