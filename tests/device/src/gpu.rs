//! The device, as thin as tests need it. It shares no code with the runtime whose kernels it judges.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};

/// An opened device with one stream.
pub struct Gpu {
    context: Arc<CudaContext>,
    stream: sys::CUstream,
}

/// Device memory.
pub struct Memory {
    pointer: sys::CUdeviceptr,
    bytes: usize,
}

/// A loaded instance.
pub struct Function {
    module: sys::CUmodule,
    function: sys::CUfunction,
}

/// Blocks, threads, dynamic shared memory, and whether it may start early.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads.
    pub block: [u32; 3],
    /// Bytes.
    pub shared_bytes: u32,
    /// Programmatic stream serialization.
    pub overlaps: bool,
}

fn said<T>(what: &str, result: Result<T, result::DriverError>) -> Result<T, String> {
    result.map_err(|e| format!("{what}: {e:?}"))
}

impl Gpu {
    /// Opens the first device.
    pub fn open() -> Result<Self, String> {
        // SAFETY: asks whether a library can be loaded.
        if !unsafe { sys::is_culib_present() } {
            return Err("there is no CUDA driver".to_owned());
        }
        let context = said("open", CudaContext::new(0))?;
        let stream = said("stream", result::stream::create(result::stream::StreamKind::NonBlocking))?;
        Ok(Self { context, stream })
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.context.name().unwrap_or_default()
    }

    /// Memory with these bytes; at least one 16-byte piece, so that no address is null.
    pub fn upload(&self, bytes: &[u8]) -> Result<Memory, String> {
        let memory = self.zeros(bytes.len())?;
        if !bytes.is_empty() {
            // SAFETY: the allocation has at least as many bytes, and nothing else uses it yet.
            said("upload", unsafe { result::memcpy_htod_sync(memory.pointer, bytes) })?;
        }
        Ok(memory)
    }

    /// Zeroed memory.
    pub fn zeros(&self, bytes: usize) -> Result<Memory, String> {
        let memory = self.unwritten(bytes)?;
        // SAFETY: a fresh allocation of this size, set as a whole.
        said("zero", unsafe { result::memset_d8_sync(memory.pointer, 0, bytes.max(16)) })?;
        Ok(memory)
    }

    /// Memory that nobody has written; at least one 16-byte piece.
    pub fn unwritten(&self, bytes: usize) -> Result<Memory, String> {
        // SAFETY: an allocation touches no other memory.
        let pointer = said("allocate", unsafe { result::malloc_sync(bytes.max(16)) })?;
        Ok(Memory { pointer, bytes })
    }

    /// Memory with a pattern of small bf16 numbers, repeated.
    pub fn pattern(&self, bytes: usize) -> Result<Memory, String> {
        let mut random = tenon_device_cases::Random::new(7);
        let piece: Vec<u8> = random.bf16(1 << 20, 0.5).iter().flat_map(|x| x.to_le_bytes()).collect();
        let memory = self.zeros(bytes)?;
        for start in (0..bytes).step_by(piece.len()) {
            let len = piece.len().min(bytes - start);
            // SAFETY: start + len is within the allocation.
            said("fill", unsafe { result::memcpy_htod_sync(memory.pointer + start as u64, &piece[..len]) })?;
        }
        Ok(memory)
    }

    /// All bytes.
    pub fn download(&self, memory: &Memory) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0u8; memory.bytes];
        if !bytes.is_empty() {
            // SAFETY: the allocation has these many bytes.
            said("download", unsafe { result::memcpy_dtoh_sync(&mut bytes, memory.pointer) })?;
        }
        Ok(bytes)
    }

    /// What an instance states of its parameters. C++ has no empty arrays, so one without any states nothing.
    pub fn manifest(&self, cubin: &[u8], name: &str, has_parameters: bool) -> Result<Vec<u32>, String> {
        if !has_parameters {
            return Ok(Vec::new());
        }
        // SAFETY: a cubin is an image; the driver copies it.
        let module = said("load", unsafe { result::module::load_data(cubin.as_ptr().cast()) })?;
        let stated = stated(module, name);
        // SAFETY: loaded above, and nothing of it is used any more.
        said("unload", unsafe { result::module::unload(module) })?;
        stated
    }

    /// Loads an instance; its manifest must be what is expected.
    pub fn load(&self, cubin: &[u8], name: &str, manifest: &[u32], shared_bytes: u32) -> Result<Function, String> {
        // SAFETY: a cubin is an image; the driver copies it.
        let module = said("load", unsafe { result::module::load_data(cubin.as_ptr().cast()) })?;
        let symbol = CString::new(name).map_err(|e| e.to_string())?;
        // SAFETY: the module is loaded.
        let function = said(name, unsafe { result::module::get_function(module, symbol) })?;
        let stated = if manifest.is_empty() { Vec::new() } else { stated(module, name)? };
        if stated != manifest {
            return Err(format!("{name}: the manifest says {stated:?}, and the parameters are {manifest:?}"));
        }
        let attribute = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        if shared_bytes > 0 {
            // SAFETY: the function is loaded.
            said("shared memory", unsafe { result::function::set_function_attribute(function, attribute, shared_bytes as i32) })?;
        }
        Ok(Function { module, function })
    }

    /// Waits for copies: one from pageable memory returns before it has ended, and the stream of launches does not wait for it.
    pub fn settle(&self) -> Result<(), String> {
        said("copy", self.context.synchronize())
    }

    /// Launches with these argument values, each as the bytes of its C type.
    pub fn launch(&self, function: &Function, geometry: Geometry, args: &mut [Vec<u64>]) -> Result<(), String> {
        let mut pointers: Vec<*mut c_void> = args.iter_mut().map(|a| a.as_mut_ptr().cast()).collect();
        let mut attribute = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let config = sys::CUlaunchConfig {
            gridDimX: geometry.grid[0],
            gridDimY: geometry.grid[1],
            gridDimZ: geometry.grid[2],
            blockDimX: geometry.block[0],
            blockDimY: geometry.block[1],
            blockDimZ: geometry.block[2],
            sharedMemBytes: geometry.shared_bytes,
            hStream: self.stream,
            attrs: &mut attribute,
            numAttrs: u32::from(geometry.overlaps),
        };
        // SAFETY: the arguments are those of the template, in its order and of its sizes; memory they point to lives until `wait`.
        let result = unsafe { sys::cuLaunchKernelEx(&config, function.function, pointers.as_mut_ptr(), std::ptr::null_mut()) };
        said("launch", result.result())
    }

    /// Waits for everything launched.
    pub fn wait(&self) -> Result<(), String> {
        // SAFETY: the stream exists.
        said("run", unsafe { result::stream::synchronize(self.stream) })
    }

    /// Milliseconds on the device between the start and the end of `work`.
    pub fn time(&self, work: impl FnOnce() -> Result<(), String>) -> Result<f64, String> {
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        let (start, end) = (said("event", result::event::create(flags))?, said("event", result::event::create(flags))?);
        // SAFETY: both events and the stream exist, here and below.
        said("event", unsafe { result::event::record(start, self.stream) })?;
        work()?;
        // SAFETY: as above.
        said("event", unsafe { result::event::record(end, self.stream) })?;
        self.wait()?;
        // SAFETY: as above.
        let elapsed = said("event", unsafe { result::event::elapsed(start, end) })?;
        // SAFETY: nothing uses them any more.
        unsafe {
            said("event", result::event::destroy(start))?;
            said("event", result::event::destroy(end))?;
        }
        Ok(f64::from(elapsed))
    }

    /// Copies between two pieces of memory, on the stream.
    pub fn copy(&self, to: &Memory, from: &Memory) -> Result<(), String> {
        let bytes = to.bytes.min(from.bytes);
        // SAFETY: both have these many bytes.
        said("copy", unsafe { result::memcpy_dtod_async(to.pointer, from.pointer, bytes, self.stream) })
    }
}

/// The manifest of an instance in a module that is loaded.
fn stated(module: sys::CUmodule, name: &str) -> Result<Vec<u32>, String> {
    let symbol = CString::new(format!("{name}_manifest")).map_err(|e| e.to_string())?;
    let (mut pointer, mut bytes) = (0, 0);
    // SAFETY: both out-pointers are valid.
    let found = unsafe { sys::cuModuleGetGlobal_v2(&mut pointer, &mut bytes, module, symbol.as_ptr()) };
    said("manifest", found.result())?;
    let mut stated = vec![0u32; bytes / 4];
    // SAFETY: the global has these many bytes.
    said("manifest", unsafe { result::memcpy_dtoh_sync(&mut stated, pointer) })?;
    Ok(stated)
}

impl Memory {
    /// The address, as a kernel takes it.
    pub fn address(&self) -> u64 {
        self.pointer
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated by `unwritten`, and every launch that used it was waited for. An error here is one that a later call tells.
        let _ = unsafe { result::free_sync(self.pointer) };
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        // SAFETY: loaded by `load`.
        let _ = unsafe { result::module::unload(self.module) };
    }
}
