//! Several mutants at once: turns on the device, and what only one may do.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};

/// The right to use the device, until it is dropped.
pub struct Turn<'a>(&'a (Mutex<usize>, Condvar));

impl<'a> Turn<'a> {
    /// Waits until there is one.
    pub fn take(of: &'a (Mutex<usize>, Condvar)) -> Self {
        let free = of.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = of.1.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Self(of)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.1.notify_one();
    }
}

/// Texts that are being compiled.
static COMPILED: (Mutex<BTreeSet<u64>>, Condvar) = (Mutex::new(BTreeSet::new()), Condvar::new());

/// The right to compile a text, until it is dropped: two that are the same would be written to one folder of the cache.
pub struct Alone(u64);

impl Alone {
    /// Waits until nobody compiles the text with this hash.
    pub fn take(text: u64) -> Self {
        let known = COMPILED.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = COMPILED.1.wait_while(known, |known| known.contains(&text)).unwrap_or_else(PoisonError::into_inner);
        known.insert(text);
        Self(text)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        COMPILED.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
        COMPILED.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::parallel::in_parallel;

    const THREADS: usize = 8;

    #[test]
    fn results_come_in_order_and_turns_are_given_back() {
        let device = (Mutex::new(2), Condvar::new());
        let tasks: Vec<usize> = (0..50).collect();
        let doubled = in_parallel(&tasks, THREADS, |n| {
            let _turn = Turn::take(&device);
            2 * n
        });
        assert_eq!(doubled, (0..50).map(|n| 2 * n).collect::<Vec<_>>());
        assert_eq!(*device.0.lock().unwrap(), 2);
    }

    #[test]
    fn one_text_is_compiled_once_at_a_time() {
        let (at_once, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let tasks: Vec<u64> = vec![7; 20];
        in_parallel(&tasks, THREADS, |text| {
            let _alone = Alone::take(*text);
            most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            at_once.fetch_sub(1, Ordering::SeqCst);
        });
        assert_eq!(most.load(Ordering::SeqCst), 1);
    }
}
