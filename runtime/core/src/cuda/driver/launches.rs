//! How many kernels a device was told to run: what a test of a device must see grow, or it has compared the host with itself.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the launches on one stream.
#[derive(Debug, Default)]
pub(in crate::cuda) struct Launches(AtomicU64);

impl Launches {
    /// So far.
    pub(in crate::cuda) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// A kernel was launched, or captured.
    pub(super) fn launched(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// From now on launches are captured and do not run.
    pub(super) fn begin_capture(&self) -> u64 {
        self.count()
    }

    /// How many were captured since `before`, which is what `begin_capture` gave. They are taken back: none has run.
    pub(super) fn end_capture(&self, before: u64) -> u64 {
        let captured = self.count() - before;
        self.0.fetch_sub(captured, Ordering::Relaxed);
        captured
    }

    /// So many captured launches run.
    pub(super) fn replayed(&self, captured: u64) {
        self.0.fetch_add(captured, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_counts_as_what_was_captured_and_a_capture_as_nothing() {
        let launches = Launches::default();
        launches.launched();
        let before = launches.begin_capture();
        (0..3).for_each(|_| launches.launched());
        let captured = launches.end_capture(before);
        assert_eq!((captured, launches.count()), (3, 1));
        launches.replayed(captured);
        launches.replayed(captured);
        assert_eq!(launches.count(), 7);
    }
}
