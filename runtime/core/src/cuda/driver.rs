//! The calls of the CUDA driver about devices, memory and copies: each in a safe function that cannot be used wrongly.
//!
//! Everything runs on the one stream of a [`Context`], so that the device sees it in the order of the calls. Addresses of device memory
//! leave this module only inside [`Argument`](launch::Argument)s and as operands of [`lt`](super::lt).

mod counters;
mod launch;
mod launches;
mod pinned;

use std::ffi::{CStr, c_char};
use std::fmt;
use std::sync::Arc;

use cudarc::driver::sys;

use super::CudaError;

use self::counters::Counters;
pub(super) use self::launch::{Argument, Event, Function, GraphExec, LaunchShape, StepArgument};
pub(super) use self::launches::Launches;
pub(super) use self::pinned::{Pinned, PitchedRows};

/// The version of the driver that the kernels need: cubins of CUDA 13 do not load on older ones.
const DRIVER_VERSION: i32 = 13_000;

/// An error of a call, where it is one.
fn check(call: &'static str, result: sys::CUresult) -> Result<(), CudaError> {
    if result == sys::CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let (mut name, mut text) = (std::ptr::null(), std::ptr::null());
    // SAFETY: both write a pointer to a text that lives as long as the driver, or null for a code that they do not know.
    let (name, text) = unsafe {
        let _ = sys::cuGetErrorName(result, &mut name);
        let _ = sys::cuGetErrorString(result, &mut text);
        let own = |text: *const c_char| {
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        };
        (own(name), own(text))
    };
    Err(CudaError::Call { call, code: result as u32, name, text })
}

/// Calls a function of the driver, and names it where it fails.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        crate::cuda::driver::check(stringify!($function), cudarc::driver::sys::$function($($argument),*))
    };
}
use call;

/// Starts the driver.
fn start() -> Result<(), CudaError> {
    // SAFETY: it tries to open the library and closes it again. Calls of the driver panic where it is not there, so that this comes
    // first, always.
    if !unsafe { sys::is_culib_present() } {
        return Err(CudaError::NoDriver);
    }
    // SAFETY: the driver is there; it may be started any number of times.
    unsafe { call!(cuInit(0)) }?;
    let mut found = 0;
    // SAFETY: it writes the number.
    unsafe { call!(cuDriverGetVersion(&mut found)) }?;
    if found < DRIVER_VERSION { Err(CudaError::Driver { found, needed: DRIVER_VERSION }) } else { Ok(()) }
}

/// Devices of this machine.
pub(super) fn count() -> Result<usize, CudaError> {
    start()?;
    let mut count = 0;
    // SAFETY: the driver is started; it writes the number.
    unsafe { call!(cuDeviceGetCount(&mut count)) }?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// A device's context and the stream on which everything runs.
pub(super) struct Context {
    device: sys::CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
    facts: Facts,
    launches: Launches,
    counters: Counters,
}

/// What a device says about itself.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) name: String,
    pub(super) capability: (u32, u32),
    pub(super) multiprocessors: usize,
    /// Bytes of shared memory that a block can have.
    pub(super) shared_memory: usize,
}

// SAFETY: handles of the driver may be used by any thread, one at a time or several; each call makes the context current first.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    pub(super) fn open(ordinal: usize) -> Result<Arc<Self>, CudaError> {
        use sys::CUdevice_attribute::*;
        let count = count()?;
        let number = i32::try_from(ordinal).ok().filter(|_| ordinal < count).ok_or(CudaError::NoDevice { ordinal, count })?;
        let mut device = 0;
        // SAFETY: the driver is started, and writes the handle of a device that exists.
        unsafe { call!(cuDeviceGet(&mut device, number)) }?;
        let attribute = |attribute| {
            let mut value = 0;
            // SAFETY: it writes the number.
            unsafe { call!(cuDeviceGetAttribute(&mut value, attribute, device)) }.map(|()| value.unsigned_abs())
        };
        let mut name = [0; 128];
        // SAFETY: it writes a text with its end into the array, whose length it is given.
        unsafe { call!(cuDeviceGetName(name.as_mut_ptr(), name.len() as i32, device)) }?;
        let name: Vec<u8> = name.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
        let facts = Facts {
            name: String::from_utf8_lossy(&name).into_owned(),
            capability: (
                attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as usize,
            shared_memory: attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as usize,
        };
        let (mut context, mut stream) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: it writes the handle of the device's primary context, which `drop` gives back.
        unsafe { call!(cuDevicePrimaryCtxRetain(&mut context, device)) }?;
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the context was retained and is made current; the second call writes the handle of a new stream in it.
        let made = unsafe { call!(cuCtxSetCurrent(context)).and_then(|()| call!(cuStreamCreate(&mut stream, flags))) };
        if let Err(error) = made {
            // SAFETY: it was retained above, and nobody else knows of it.
            let _ = unsafe { call!(cuDevicePrimaryCtxRelease_v2(device)) };
            return Err(error);
        }
        Ok(Arc::new(Self { device, context, stream, facts, launches: Launches::default(), counters: Counters::default() }))
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// How many kernels were launched on it.
    pub(super) fn launches(&self) -> &Launches {
        &self.launches
    }

    /// Where the kernels that are loaded count their launches, if they do.
    fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The stream, for libraries that launch kernels of their own. The context is current on this thread afterwards.
    pub(super) fn stream(&self) -> Result<sys::CUstream, CudaError> {
        self.bind()?;
        Ok(self.stream)
    }

    /// Makes the context current on this thread.
    fn bind(&self) -> Result<(), CudaError> {
        // SAFETY: the context is retained as long as this lives.
        unsafe { call!(cuCtxSetCurrent(self.context)) }
    }

    /// Free and all bytes of the device.
    pub(super) fn memory(&self) -> Result<(usize, usize), CudaError> {
        self.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: a context is current; it writes the two numbers.
        unsafe { call!(cuMemGetInfo_v2(&mut free, &mut total)) }?;
        Ok((free, total))
    }

    /// Waits until all that was launched and copied is done.
    pub(super) fn synchronise(&self) -> Result<(), CudaError> {
        self.bind()?;
        // SAFETY: the stream lives as long as this.
        unsafe { call!(cuStreamSynchronize(self.stream)) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Errors have nobody to go to; all memory of the context was given back before, because each piece keeps it alive.
        // SAFETY: stream and context are this one's own, and nothing refers to them any more.
        unsafe {
            let _ = self.bind().and_then(|()| call!(cuStreamDestroy_v2(self.stream)));
            let _ = call!(cuDevicePrimaryCtxRelease_v2(self.device));
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Context").field(&self.facts).finish()
    }
}

/// Memory of a device, given back on drop. None is asked for where it has no bytes.
pub(super) struct Memory {
    address: sys::CUdeviceptr,
    bytes: usize,
    context: Arc<Context>,
}

impl Memory {
    /// So many bytes, zeroed.
    pub(super) fn zeroed(context: &Arc<Context>, bytes: usize) -> Result<Self, CudaError> {
        let mut memory = Self::new(context, bytes)?;
        memory.clear(0, bytes)?;
        Ok(memory)
    }

    /// So many bytes, whatever they hold.
    pub(super) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, CudaError> {
        context.bind()?;
        let mut address = 0;
        if bytes > 0 {
            // SAFETY: a context is current; it writes an address of that many bytes, which are this one's own until `drop`.
            unsafe { call!(cuMemAlloc_v2(&mut address, bytes)) }.map_err(|error| match error {
                CudaError::Call { code, .. } if code == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32 => {
                    let (free, total) = context.memory().unwrap_or((0, 0));
                    CudaError::OutOfMemory { asked: bytes, free, total }
                }
                other => other,
            })?;
        }
        Ok(Self { address, bytes, context: Arc::clone(context) })
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The address, for operands of libraries; null where there are no bytes.
    pub(super) fn address(&self) -> u64 {
        self.address
    }

    /// The address of byte `at`, of which `len` follow.
    fn at(&self, at: usize, len: usize) -> u64 {
        let inside = at.checked_add(len).is_some_and(|end| end <= self.bytes);
        assert!(inside, "bytes {at}.. and {len} more of {} on the device", self.bytes);
        self.address + at as u64
    }

    /// Zeroes some bytes.
    pub(super) fn clear(&mut self, at: usize, len: usize) -> Result<(), CudaError> {
        let address = self.at(at, len);
        self.context.bind()?;
        if len == 0 {
            return Ok(());
        }
        // SAFETY: `at` says that the range is inside this memory, which is borrowed mutably.
        unsafe { call!(cuMemsetD8Async(address, 0, len, self.context.stream)) }
    }

    /// Copies from other memory of the same device.
    pub(super) fn copy(&mut self, at: usize, from: &Self, from_at: usize, len: usize) -> Result<(), CudaError> {
        assert!(Arc::ptr_eq(&self.context, &from.context), "memory of two devices");
        let (to, from) = (self.at(at, len), from.at(from_at, len));
        self.context.bind()?;
        if len == 0 {
            return Ok(());
        }
        // SAFETY: both ranges are inside their memory; they are two, because one is borrowed mutably.
        unsafe { call!(cuMemcpyDtoDAsync_v2(to, from, len, self.context.stream)) }
    }

    /// Reads bytes, once everything before is done.
    pub(super) fn read(&self, at: usize, out: &mut [u8]) -> Result<(), CudaError> {
        let from = self.at(at, out.len());
        self.context.bind()?;
        if !out.is_empty() {
            // SAFETY: both ranges have that length; the copy is waited for before the borrow ends.
            unsafe { call!(cuMemcpyDtoHAsync_v2(out.as_mut_ptr().cast(), from, out.len(), self.context.stream)) }?;
        }
        self.context.synchronise()
    }

    /// Writes bytes, and waits until they are there.
    pub(super) fn write(&mut self, at: usize, from: &[u8]) -> Result<(), CudaError> {
        let to = self.at(at, from.len());
        self.context.bind()?;
        if !from.is_empty() {
            // SAFETY: both ranges have that length; the copy is waited for before the borrow ends.
            unsafe { call!(cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), self.context.stream)) }?;
        }
        self.context.synchronise()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.bytes > 0 && self.context.bind().is_ok() {
            // The driver waits for what still uses the memory. An error here is one of an earlier launch, and has nobody to go to.
            // SAFETY: the memory is this one's own, and nothing refers to it any more.
            let _ = unsafe { call!(cuMemFree_v2(self.address)) };
        }
    }
}
