//! What is read when it is asked for: the process, and the engine as it was after its last step.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use tenon_engine::EngineStats;

use crate::serve::observe::EngineObserver;

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
pub(in crate::serve) struct EngineState(Mutex<EngineStats>);

impl EngineState {
    fn stats(&self) -> MutexGuard<'_, EngineStats> {
        // Each change is one assignment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EngineObserver for EngineState {
    fn stats(&self, stats: &EngineStats) {
        *self.stats() = *stats;
    }
}

impl Collector for EngineState {
    #[rustfmt::skip]
    fn encode(&self, mut to: DescriptorEncoder) -> Result<(), fmt::Error> {
        let stats = *self.stats();
        let to = &mut to;
        gauge(to, "tenon_sequences_waiting", "Sequences that wait for the engine", stats.waiting as f64)?;
        gauge(to, "tenon_sequences_running", "Sequences that the engine computes", stats.running as f64)?;
        counter(to, "tenon_engine_steps", "Steps that the engine has computed", stats.steps)?;
        gauge(to, "tenon_engine_batch_sequences", "Sequences of the last step", stats.batch_sequences as f64)?;
        gauge(to, "tenon_engine_batch_tokens", "Tokens of prompts and answers that the last step computed", stats.batch_tokens as f64)?;
        counter(to, "tenon_engine_prompt_tokens", "Tokens of prompts that were computed, each counted once", stats.prompt_tokens)?;
        counter(to, "tenon_engine_recomputed_tokens", "Tokens that were computed again, after their pages were given up", stats.recomputed_tokens)?;
        counter(to, "tenon_preemptions", "Times that a sequence gave its pages up and went back to the queue", stats.preemptions)?;
        counter(to, "tenon_prefix_hit_tokens", "Tokens of prompts that were found in the cache, and not computed", stats.prefix_hit_tokens)?;
        gauge(to, "tenon_cache_pages", "Pages of the cache", stats.pages as f64)?;
        gauge(to, "tenon_cache_pages_used", "Pages that running sequences use", stats.pages_used as f64)?;
        gauge(to, "tenon_cache_pages_cached", "Pages that nobody uses and a later prompt may find; they are taken when room is needed", stats.pages_cached as f64)?;
        gauge(to, "tenon_snapshots", "Places for snapshots of recurrent states", stats.snapshots as f64)?;
        gauge(to, "tenon_snapshots_used", "Snapshots of recurrent states that are kept", stats.snapshots_used as f64)
    }
}
