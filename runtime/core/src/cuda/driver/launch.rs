//! The calls of the CUDA driver about kernels, events and graphs.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::Arc;

use cudarc::driver::sys;

use super::{Context, Memory, call};
use crate::cuda::CudaError;

/// A point in the stream's work.
pub(in crate::cuda) struct Event {
    event: sys::CUevent,
    context: Arc<Context>,
}

// SAFETY: handles of the driver may be used by any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event that has happened. The context is current on this thread afterwards.
    pub(in crate::cuda) fn new(context: &Arc<Context>) -> Result<Self, CudaError> {
        context.bind()?;
        let mut event = std::ptr::null_mut();
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: a context is current; it writes the handle of a new event, which `drop` gives back.
        unsafe { call!(cuEventCreate(&mut event, flags)) }?;
        Ok(Self { event, context: Arc::clone(context) })
    }

    /// From now on it is the end of what was launched so far.
    pub(in crate::cuda) fn record(&self) -> Result<(), CudaError> {
        self.context.bind()?;
        // SAFETY: event and stream are of the same context, and live.
        unsafe { call!(cuEventRecord(self.event, self.context.stream)) }
    }

    /// Waits until it happened.
    pub(in crate::cuda) fn wait(&self) -> Result<(), CudaError> {
        self.context.bind()?;
        // SAFETY: the event lives.
        unsafe { call!(cuEventSynchronize(self.event)) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: the event is this one's own.
            let _ = unsafe { call!(cuEventDestroy_v2(self.event)) };
        }
    }
}

/// A kernel's parameter, by value.
#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::cuda) union Argument {
    address: u64,
    int: i32,
    float: f32,
    step: StepArgument,
}

/// The `Step` of `step.cuh`, field by field.
#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::cuda) struct StepArgument {
    pub(in crate::cuda) arrays: [u64; 13],
    pub(in crate::cuda) numbers: [i32; 4],
}

impl Argument {
    /// The address of byte `at` of memory.
    pub(in crate::cuda) fn memory(memory: &Memory, at: usize) -> Self {
        Self { address: memory.at(at, 0) }
    }

    pub(in crate::cuda) fn null() -> Self {
        Self { address: 0 }
    }

    pub(in crate::cuda) fn int(int: i32) -> Self {
        Self { int }
    }

    pub(in crate::cuda) fn float(float: f32) -> Self {
        Self { float }
    }

    /// Arrays at these bytes of one memory, and numbers.
    pub(in crate::cuda) fn step(memory: &Memory, arrays: [usize; 13], numbers: [i32; 4]) -> Self {
        Self { step: StepArgument { arrays: arrays.map(|at| memory.at(at, 0)), numbers } }
    }
}

/// A kernel of a loaded cubin.
pub(in crate::cuda) struct Function {
    module: sys::CUmodule,
    function: sys::CUfunction,
    /// Bytes of each parameter.
    parameters: Vec<usize>,
    context: Arc<Context>,
}

// SAFETY: handles of the driver may be used by any thread.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub(in crate::cuda) struct LaunchShape {
    pub(in crate::cuda) grid: [u32; 3],
    pub(in crate::cuda) block: [u32; 3],
    pub(in crate::cuda) shared_bytes: u32,
    /// Blocks may start before the kernel before it has ended.
    pub(in crate::cuda) overlaps: bool,
}

impl Function {
    /// The kernel `name` of a cubin, and what stands in the array `manifest` there, if it has one. If it has a variable `counter`, it counts
    /// its launches there.
    pub(in crate::cuda) fn load(
        context: &Arc<Context>,
        cubin: &[u8],
        name: &str,
        manifest: &str,
        counter: &str,
    ) -> Result<(Self, Vec<u32>), CudaError> {
        const ELF: &[u8] = b"\x7fELF";
        let damaged = |problem: &str| CudaError::Manifest { instance: name.to_owned(), problem: problem.to_owned() };
        // The driver is given no length: it reads what the headers say.
        if !cubin.starts_with(ELF) {
            return Err(damaged("it is no cubin"));
        }
        let symbols = [name, manifest, counter].map(CString::new);
        let [Ok(symbol), Ok(manifest), Ok(counter)] = symbols else {
            return Err(damaged("its name has a zero byte"));
        };
        context.bind()?;
        let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a context is current, and the bytes are a cubin that nvcc wrote; it writes the handle, which `drop` gives back.
        unsafe { call!(cuModuleLoadData(&mut module, cubin.as_ptr().cast())) }?;
        let mut loaded = Self { module, function, parameters: Vec::new(), context: Arc::clone(context) };
        // SAFETY: the module is loaded; it writes the handle of a kernel in it.
        unsafe { call!(cuModuleGetFunction(&mut function, module, symbol.as_ptr())) }?;
        loaded.function = function;
        let counter = match loaded.variable(&counter)? {
            None => None,
            Some((address, size_of_counter)) if size_of_counter == size_of::<u64>() => Some(address),
            Some((_, bytes)) => return Err(damaged(&format!("its counter has {bytes} bytes"))),
        };
        context.counters().loaded(module, name, counter);
        // An instance without parameters has none.
        let (address, bytes) = loaded.variable(&manifest)?.unwrap_or((0, 0));
        let mut numbers = vec![0u32; bytes / 4];
        if !numbers.is_empty() {
            // SAFETY: that many bytes are there and here, and the copy is waited for.
            unsafe { call!(cuMemcpyDtoHAsync_v2(numbers.as_mut_ptr().cast(), address, numbers.len() * 4, context.stream)) }?;
        }
        context.synchronise()?;
        loaded.parameters = loaded.read_parameters();
        Ok((loaded, numbers))
    }

    /// Where a variable of the module is, and how many bytes it has; `None` where there is none.
    fn variable(&self, name: &CStr) -> Result<Option<(sys::CUdeviceptr, usize)>, CudaError> {
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the module is loaded; it writes where the variable is, and how long.
        match unsafe { call!(cuModuleGetGlobal_v2(&mut address, &mut bytes, self.module, name.as_ptr())) } {
            Err(CudaError::Call { code, .. }) if code == sys::CUresult::CUDA_ERROR_NOT_FOUND as u32 => Ok(None),
            other => other.map(|()| Some((address, bytes))),
        }
    }

    /// Bytes of each parameter, as the cubin says.
    fn read_parameters(&self) -> Vec<usize> {
        let size = |index| {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: the kernel is loaded; it writes the two numbers, or fails behind the last parameter.
            unsafe { call!(cuFuncGetParamInfo(self.function, index, &mut offset, &mut size)) }.ok().map(|()| size)
        };
        (0..).map_while(size).collect()
    }

    /// Bytes of each parameter.
    pub(in crate::cuda) fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    /// Lets a block have so many bytes of dynamic shared memory.
    pub(in crate::cuda) fn allow_shared(&self, bytes: u32) -> Result<(), CudaError> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        self.context.bind()?;
        // SAFETY: the kernel is loaded.
        unsafe { call!(cuFuncSetAttribute(self.function, attribute, bytes as i32)) }
    }

    /// Launches the kernel. `arguments` are those that its parameters ask for: [`Kernel`](crate::cuda::Kernel) compares number and sizes, and
    /// their types and the lengths of memory come from the TEMPLATE.toml that the kernel's own parameters come from.
    pub(in crate::cuda) fn launch(&self, shape: LaunchShape, arguments: &mut [Argument]) -> Result<(), CudaError> {
        const MOST: usize = 48;
        let count = arguments.len();
        assert!(count <= MOST && count == self.parameters.len(), "{count} arguments for {} parameters", self.parameters.len());
        let mut pointers = [std::ptr::null_mut::<c_void>(); MOST];
        for (pointer, argument) in pointers.iter_mut().zip(arguments) {
            *pointer = std::ptr::from_mut(argument).cast();
        }
        let LaunchShape { grid, block, shared_bytes, overlaps } = shape;
        let mut attribute = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: Default::default(),
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let config = sys::CUlaunchConfig {
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: block[0],
            blockDimY: block[1],
            blockDimZ: block[2],
            sharedMemBytes: shared_bytes,
            hStream: self.context.stream()?,
            attrs: &mut attribute,
            numAttrs: u32::from(overlaps),
        };
        // SAFETY: kernel and stream live; there is a value for each parameter, of its size, and they are copied before the call returns.
        // What the kernel does with the memory is inside of it, by the contract of this function.
        unsafe { call!(cuLaunchKernelEx(&config, self.function, pointers.as_mut_ptr(), std::ptr::null_mut())) }?;
        self.context.launches().launched();
        Ok(())
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        self.context.counters().unloaded(self.module);
        if self.context.bind().is_ok() {
            // SAFETY: the module is this one's own; the driver waits for launches of its kernels.
            let _ = unsafe { call!(cuModuleUnload(self.module)) };
        }
    }
}

impl Context {
    /// How often the kernels that are loaded were launched since each was loaded, by instance: all of them, or one. Waits for what runs.
    pub(in crate::cuda) fn counted(&self, only: Option<&str>) -> Result<BTreeMap<String, u64>, CudaError> {
        self.synchronise()?;
        self.counters().sum(only, |counter| {
            let mut bytes = [0u8; 8];
            // SAFETY: the variable has eight bytes, which `Function::load` compared, and its module is still loaded: it leaves the list, which
            // is held here, before it is unloaded. The copy is waited for before the borrow ends.
            unsafe { call!(cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), counter, bytes.len(), self.stream)) }?;
            self.synchronise()?;
            Ok(u64::from_le_bytes(bytes))
        })
    }
}

/// Launches that were captured and are made again as one.
pub(in crate::cuda) struct GraphExec {
    graph: sys::CUgraphExec,
    /// Kernels of this project in it.
    launches: u64,
    context: Arc<Context>,
}

// SAFETY: handles of the driver may be used by any thread; launching needs a mutable borrow.
unsafe impl Send for GraphExec {}

impl GraphExec {
    /// Captures what `launch` launches, which does not run now.
    pub(in crate::cuda) fn capture<E: From<CudaError>>(
        context: &Arc<Context>,
        launch: impl FnOnce() -> Result<(), E>,
    ) -> Result<Self, E> {
        let stream = context.stream()?;
        // Libraries may allocate or load kernels while they launch; nothing else uses the stream.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream lives.
        unsafe { call!(cuStreamBeginCapture_v2(stream, mode)) }?;
        let before = context.launches().begin_capture();
        let launched = launch();
        let launches = context.launches().end_capture(before);
        let (mut graph, mut exec) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the stream is being captured; it writes the handle of the graph, or null.
        let ended = unsafe { call!(cuStreamEndCapture(context.stream()?, &mut graph)) };
        if let Err(error) = launched {
            if !graph.is_null() {
                // SAFETY: the graph is this function's own.
                let _ = unsafe { call!(cuGraphDestroy(graph)) };
            }
            return Err(error);
        }
        ended?;
        // SAFETY: the graph was captured and is this function's own; the first call writes the handle, which `drop` gives back.
        let made = unsafe {
            let made = call!(cuGraphInstantiateWithFlags(&mut exec, graph, 0));
            let _ = call!(cuGraphDestroy(graph));
            made
        };
        made?;
        Ok(Self { graph: exec, launches, context: Arc::clone(context) })
    }

    /// Makes the launches. The memory that they use must still be there.
    pub(in crate::cuda) fn replay(&mut self) -> Result<(), CudaError> {
        let stream = self.context.stream()?;
        // SAFETY: graph and stream live, and are of one context.
        unsafe { call!(cuGraphLaunch(self.graph, stream)) }?;
        self.context.launches().replayed(self.launches);
        Ok(())
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: the graph is this one's own.
            let _ = unsafe { call!(cuGraphExecDestroy(self.graph)) };
        }
    }
}
