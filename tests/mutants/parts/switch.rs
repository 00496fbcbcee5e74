//! The switch of the mutants: which one of them is on, in this process.

use std::sync::atomic::{AtomicU32, Ordering};

static ON: AtomicU32 = AtomicU32::new(0);

/// Whether mutant `number` is on. They are counted from 1.
#[inline(always)]
pub fn on(number: u32) -> bool {
    ON.load(Ordering::Relaxed) == number
}

/// Turns one mutant on and all others off; with 0, all are off.
pub fn set(number: u32) {
    ON.store(number, Ordering::Relaxed);
}
