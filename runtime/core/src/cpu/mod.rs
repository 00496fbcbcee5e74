//! The CPU: its threads, its instruction set, and the operations that generated code calls.

pub(crate) mod activation;
mod attention;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod chunk;
mod conv;
mod delta;
mod exp;
mod gate;
mod gated_norm;
pub(crate) mod grid;
mod mamba2;
mod mla;
mod moe;
mod norm;
mod pool;
#[cfg(test)]
mod rooms;
mod rope;
pub(crate) mod simd;
#[cfg(test)]
mod spans;
mod topology;

pub use self::activation::{
    add, add_bias, add_scaled, gather_logit_rows, gelu, gelu_mul, gelu_tanh, gelu_tanh_mul, relu2, scale, sigmoid_gate_add, silu,
    silu_mul, soft_cap,
};
pub use self::attention::{attention, sink_attention, sliding_attention, softcap_attention};
pub use self::conv::{causal_conv, causal_conv_bias};
pub use self::delta::{delta_decode, delta_prefill};
pub use self::gate::sigmoid_mul;
pub use self::gated_norm::{gated_group_norm, gated_head_norm};
pub use self::mamba2::{mamba2_scan, mamba2_update};
pub use self::mla::{Absorbed, Expanded, MlaForm, latent_norm, mla_decode, mla_prefill, query_scale};
pub use self::moe::{route, route_biased};
pub use self::norm::{head_norm, rms_norm, rms_norm_add};
pub use self::rope::{rope, rope_tail};
pub use self::topology::physical_threads;

use self::pool::Pool;
use self::simd::Lanes;

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// What every machine has.
    Portable,
}

impl Isa {
    /// Every instruction set, the fastest first.
    pub const ALL: [Self; 2] = [Self::Avx2, Self::Portable];

    /// The spelling on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
        }
    }

    /// True where this machine has the instructions.
    pub fn is_available(self) -> bool {
        self.lanes().is_some()
    }

    /// The instruction sets of this machine, the fastest first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|isa| isa.is_available())
    }

    /// The fastest instruction set of this machine.
    pub fn detect() -> Self {
        Self::available().next().unwrap_or(Self::Portable)
    }

    fn lanes(self) -> Option<Lanes> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => avx2::Avx2::detect().map(Lanes::Avx2),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 => None,
            Self::Portable => Some(Lanes::Portable),
        }
    }
}

impl std::fmt::Display for Isa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Isa {
    type Err = CpuError;

    fn from_str(text: &str) -> Result<Self, CpuError> {
        Self::ALL.into_iter().find(|isa| isa.as_str() == text).ok_or_else(|| CpuError::UnknownIsa { text: text.to_owned() })
    }
}

/// Why a [`Cpu`] cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum CpuError {
    /// No such instruction set.
    #[error("there is no instruction set `{text}`; use avx2 or portable")]
    UnknownIsa {
        /// What was asked for.
        text: String,
    },
    /// The machine lacks the instructions.
    #[error("this machine does not have the instruction set `{isa}`; use {}", Isa::detect())]
    MissingIsa {
        /// What was asked for.
        isa: Isa,
    },
    /// Nobody would do the work.
    #[error("0 threads; use at least 1")]
    NoThreads,
    /// The system refused a thread.
    #[error("cannot start {threads} threads: {source}; use fewer")]
    Spawn {
        /// What was asked for.
        threads: usize,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Threads and an instruction set: what the operations of this module run on.
pub struct Cpu {
    pool: Pool,
    isa: Isa,
    lanes: Lanes,
}

impl Cpu {
    /// Starts `threads - 1` workers; the thread that calls an operation is the remaining one.
    ///
    /// # Errors
    /// When the machine lacks `isa`, or the system refuses the threads.
    pub fn new(threads: usize, isa: Isa) -> Result<Self, CpuError> {
        let lanes = isa.lanes().ok_or(CpuError::MissingIsa { isa })?;
        if threads == 0 {
            return Err(CpuError::NoThreads);
        }
        let pool = Pool::new(threads).map_err(|source| CpuError::Spawn { threads, source })?;
        Ok(Self { pool, isa, lanes })
    }

    /// Threads that share the work, the caller included.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// The instruction set of the kernels.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Calls `task(i)` once for each `i` in `0..tasks`; task `i` runs on thread `i % threads`, of which the caller is thread 0.
    ///
    /// # Panics
    /// With the payload of a task that panicked, after all threads have stopped.
    pub fn run(&self, tasks: usize, task: impl Fn(usize) + Sync) {
        self.pool.run(tasks, &task);
    }

    /// Bytes that each thread really keeps for intermediate results, the caller's first: at most a thread's part of
    /// [`Memory::rooms`](crate::model::Memory::rooms), and all of it after the largest step. The threads are asked, so that this is for
    /// tests and measurements.
    pub fn room_bytes(&self) -> Vec<usize> {
        let rooms = std::sync::Mutex::new(vec![0; self.threads()]);
        self.run(self.threads(), |thread| {
            let bytes = chunk::room_bytes() + mla::room_bytes();
            // A lock whose holder panicked holds whole numbers all the same.
            rooms.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[thread] = bytes;
        });
        rooms.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// Rows per cell so that each thread gets one cell, or all rows where `work` (in elements, over all rows) is not worth
    /// waking a thread: the fork and join cost about as much as 10,000 elements of a light operation.
    pub(crate) fn row_unit(&self, rows: usize, work: usize) -> usize {
        if work < 16 * 1024 { rows.max(1) } else { rows.div_ceil(self.threads()).max(1) }
    }
}

impl std::fmt::Debug for Cpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cpu").field("threads", &self.threads()).field("isa", &self.isa).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_refused() {
        for isa in Isa::ALL {
            assert_eq!(isa.to_string().parse::<Isa>().unwrap(), isa);
        }
        let error = "avx512".parse::<Isa>().unwrap_err();
        assert_eq!(error.to_string(), "there is no instruction set `avx512`; use avx2 or portable");
    }

    #[test]
    fn zero_threads_are_refused() {
        assert_eq!(Cpu::new(0, Isa::Portable).unwrap_err().to_string(), "0 threads; use at least 1");
    }

    #[test]
    fn portable_is_available_everywhere_and_last() {
        assert_eq!(Isa::available().last(), Some(Isa::Portable));
        assert!(Isa::detect().is_available());
    }
}
