//! `Graphs`: decode steps that were captured, one per bucket.

use std::collections::HashMap;
use std::sync::Arc;

use super::driver::GraphExec;
use super::{CudaError, Device};

/// What to do with a step of some bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Launch it: the first one of its bucket, in which libraries choose their kernels.
    Launch,
    /// Capture it with [`Graphs::capture`], which also runs it.
    Capture,
    /// Run the captured one with [`Graphs::replay`].
    Replay,
}

/// The captured steps of one model. They refer to its memory, so that they belong beside it and are dropped with it.
#[derive(Default)]
pub struct Graphs {
    /// By bucket; `None` where a step was launched and not yet captured.
    captured: HashMap<usize, Option<GraphExec>>,
}

impl Graphs {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What to do with the next step of this bucket.
    pub fn turn(&mut self, bucket: usize) -> Turn {
        match self.captured.get(&bucket) {
            None => {
                self.captured.insert(bucket, None);
                Turn::Launch
            }
            Some(None) => Turn::Capture,
            Some(Some(_)) => Turn::Replay,
        }
    }

    /// Captures the launches that `launch` makes, and runs them. Nothing but launches and clears may be in it: no copies from or to the
    /// host, no waiting.
    ///
    /// # Errors
    /// Those of `launch`, and when the device refuses.
    pub fn capture<E: From<CudaError>>(
        &mut self,
        device: &Arc<Device>,
        bucket: usize,
        launch: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let graph = GraphExec::capture(device.context(), launch)?;
        self.captured.insert(bucket, Some(graph));
        Ok(self.replay(bucket)?)
    }

    /// Runs the captured step of this bucket.
    ///
    /// # Errors
    /// When the device refuses.
    ///
    /// # Panics
    /// If none was captured.
    pub fn replay(&mut self, bucket: usize) -> Result<(), CudaError> {
        let graph = self.captured.get_mut(&bucket).and_then(Option::as_mut);
        graph.unwrap_or_else(|| panic!("no step of {bucket} sequences was captured")).replay()
    }

    /// Buckets that were captured.
    pub fn len(&self) -> usize {
        self.captured.values().flatten().count()
    }

    /// True where none was.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Debug for Graphs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Graphs({} captured)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_of_a_bucket_is_launched_and_the_second_captured() {
        let mut graphs = Graphs::new();
        assert_eq!([4, 4, 8, 4].map(|bucket| graphs.turn(bucket)), [Turn::Launch, Turn::Capture, Turn::Launch, Turn::Capture]);
        assert!(graphs.is_empty());
    }

    #[test]
    #[should_panic(expected = "no step of 4 sequences was captured")]
    fn what_was_not_captured_cannot_run() {
        let mut graphs = Graphs::new();
        graphs.turn(4);
        let _ = graphs.replay(4);
    }
}
