//! What is read when it is asked for: the process, and the engine as it was after its last step.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// The process, under the names that Prometheus's own client libraries give it.
#[derive(Debug)]
pub(super) struct Process {
    /// Seconds since 1970.
    started: f64,
}

impl Process {
    /// The one that runs.
    pub(super) fn new() -> Self {
        Self { started: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64()) }
    }
}

impl Collector for Process {
    fn encode(&self, mut to: DescriptorEncoder) -> Result<(), fmt::Error> {
        gauge(&mut to, "process_start_time_seconds", "When the server started, in seconds since 1970", self.started)?;
        // Where the system does not say, there is no such line.
        if let Some(bytes) = resident_bytes() {
            gauge(&mut to, "process_resident_memory_bytes", "Memory that the process has in RAM", bytes as f64)?;
        }
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            gauge(&mut to, "process_open_fds", "Files and sockets that the process has open", open.count() as f64)?;
        }
        Ok(())
    }
}

/// Bytes that the process has in RAM, where the system says so.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

fn gauge(to: &mut DescriptorEncoder, name: &str, help: &str, value: f64) -> Result<(), fmt::Error> {
    let gauge = ConstGauge::new(value);
    gauge.encode(to.encode_descriptor(name, help, None, gauge.metric_type())?)
}

fn counter(to: &mut DescriptorEncoder, name: &str, help: &str, value: u64) -> Result<(), fmt::Error> {
    let counter = ConstCounter::new(value);
    counter.encode(to.encode_descriptor(name, help, None, counter.metric_type())?)
}

/// The engine after a step, as its thread tells it.
#[derive(Debug, Default)]
pub(in crate::serve) struct EngineState(Mutex<Figures>);

/// What the engine's thread knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::serve) struct Figures {
    /// Sequences that wait.
    pub(in crate::serve) waiting: usize,
    /// Sequences that compute.
    pub(in crate::serve) running: usize,
    /// Steps since the start.
    pub(in crate::serve) steps: u64,
}

impl EngineState {
    /// The engine is now like this.
    pub(in crate::serve) fn set(&self, figures: Figures) {
        *self.figures() = figures;
    }

    fn figures(&self) -> MutexGuard<'_, Figures> {
        // Each change is one assignment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for EngineState {
    #[rustfmt::skip]
    fn encode(&self, mut to: DescriptorEncoder) -> Result<(), fmt::Error> {
        let figures = *self.figures();
        let to = &mut to;
        gauge(to, "tenon_sequences_waiting", "Sequences that wait for the engine", figures.waiting as f64)?;
        gauge(to, "tenon_sequences_running", "Sequences that the engine computes", figures.running as f64)?;
        counter(to, "tenon_engine_steps", "Steps that the engine has computed", figures.steps)
    }
}
