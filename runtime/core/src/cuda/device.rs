//! `Device`: one GPU and the stream on which everything on it runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::driver::{self, Context, Memory};
use super::{CudaError, Progress};

/// One GPU of this machine, with a stream of its own. Several models may share it.
pub struct Device {
    context: Arc<Context>,
    /// Told how far a load is.
    progress: Mutex<Option<Progress>>,
}

impl Device {
    /// Devices of this machine.
    ///
    /// # Errors
    /// When there is no driver, or it is too old.
    pub fn count() -> Result<usize, CudaError> {
        driver::count()
    }

    /// The device with this number, from 0.
    ///
    /// # Errors
    /// When there is no driver, it is too old, or there is no such device.
    pub fn open(ordinal: usize) -> Result<Arc<Self>, CudaError> {
        Ok(Arc::new(Self { context: Context::open(ordinal)?, progress: Mutex::new(None) }))
    }

    /// The name of its make, such as `NVIDIA H200`.
    pub fn name(&self) -> &str {
        &self.context.facts().name
    }

    /// Its compute capability, major and minor.
    pub fn capability(&self) -> (u32, u32) {
        self.context.facts().capability
    }

    /// Its multiprocessors.
    pub fn multiprocessors(&self) -> usize {
        self.context.facts().multiprocessors
    }

    /// Bytes of shared memory that a block can have.
    pub fn shared_memory(&self) -> usize {
        self.context.facts().shared_memory
    }

    /// Free and all bytes of its memory.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn memory_info(&self) -> Result<(usize, usize), CudaError> {
        self.context.memory()
    }

    /// Refuses a device that cannot run kernels of `target`, `sm_90a` or another, whose compute capability is `capability`.
    ///
    /// # Errors
    /// When the device is of another one.
    pub fn require(&self, target: &'static str, capability: (u32, u32)) -> Result<(), CudaError> {
        if self.capability() == capability {
            return Ok(());
        }
        Err(CudaError::Target { target, device: self.name().to_owned(), capability: self.capability() })
    }

    /// Waits until all that was launched and copied is done.
    ///
    /// # Errors
    /// When something of it failed.
    pub fn synchronise(&self) -> Result<(), CudaError> {
        self.context.synchronise()
    }

    /// Kernels of this project that were launched on it since it was opened. A step that is captured launches nothing, and each replay
    /// launches what was captured. Products of the matrix library, copies and clears are not counted.
    pub fn launches(&self) -> u64 {
        self.context.launches().count()
    }

    /// How often each kernel that is loaded was launched, by instance, as the kernels of a counting build count themselves on the device:
    /// replays of captured steps, too. An instance that is loaded several times is the sum. Kernels of the matrix library do not count. A
    /// counter starts with its kernel's load and ends with the model that loaded it.
    ///
    /// # Errors
    /// When a kernel was compiled without a counter, or the device is lost.
    pub fn launches_counted(&self) -> Result<BTreeMap<String, u64>, CudaError> {
        self.context.counted(None)
    }

    /// The same of one instance.
    ///
    /// # Errors
    /// When it was compiled without a counter, is not loaded, or the device is lost.
    pub fn launches_of(&self, instance: &str) -> Result<u64, CudaError> {
        Ok(self.context.counted(Some(instance))?.values().sum())
    }

    /// Bytes that a copy within the device reads and writes per second: the best of a few, over more than any cache keeps.
    ///
    /// # Errors
    /// When there is no room for two buffers of a gigabyte.
    pub fn copy_rate(&self) -> Result<f64, CudaError> {
        const BYTES: usize = 1 << 30;
        const COPIES: usize = 8;
        let (from, mut to) = (Memory::zeroed(&self.context, BYTES)?, Memory::zeroed(&self.context, BYTES)?);
        let mut best = f64::INFINITY;
        for _ in 0..4 {
            self.synchronise()?;
            let started = Instant::now();
            for _ in 0..COPIES {
                to.copy(0, &from, 0, BYTES)?;
            }
            self.synchronise()?;
            best = best.min(started.elapsed().as_secs_f64());
        }
        Ok((2 * BYTES * COPIES) as f64 / best)
    }

    /// From now on `progress` is told how far a load onto this device is; `None` ends that.
    pub fn on_progress(&self, progress: Option<Progress>) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    pub(super) fn report(&self, done: u64, all: u64) {
        if let Some(progress) = self.progress.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            progress(done, all);
        }
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Device").field(&self.context).finish()
    }
}
