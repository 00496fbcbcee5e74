//! The calls of cuBLASLt: each in a safe function that cannot be used wrongly.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::sync::Arc;

use cudarc::cublaslt::sys;

use super::CudaError;
use super::driver::{Context, Memory};

/// Bytes that an algorithm may use beside its operands: enough for split sums of every product, and always the same, so that a captured
/// graph can use it again.
const WORKSPACE: usize = 32 << 20;

fn check(call: &'static str, status: sys::cublasStatus_t) -> Result<(), CudaError> {
    if status == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS {
        return Ok(());
    }
    // SAFETY: it returns a text that lives as long as the library.
    let name = unsafe { sys::cublasLtGetStatusName(status) };
    let status = if name.is_null() {
        format!("{status:?}")
    } else {
        // SAFETY: a text with its end.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    };
    Err(CudaError::Gemm { call, status })
}

/// Calls a function of the library, and names it where it fails.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        check(stringify!($function), sys::$function($($argument),*))
    };
}

/// What becomes of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mode {
    /// Stored as bf16.
    Bf16,
    /// Stored as f32.
    F32,
    /// Added to f32.
    Add,
}

impl Mode {
    fn bytes(self) -> usize {
        if self == Self::Bf16 { 2 } else { 4 }
    }

    fn dtype(self) -> sys::cudaDataType {
        if self == Self::Bf16 { sys::cudaDataType::CUDA_R_16BF } else { sys::cudaDataType::CUDA_R_32F }
    }
}

/// A product `[rows, inputs]` by `[outputs, inputs]`, whose weight has rows `pitch` elements apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Product {
    pub(super) rows: usize,
    pub(super) outputs: usize,
    pub(super) inputs: usize,
    pub(super) pitch: usize,
    pub(super) mode: Mode,
}

/// The library and its workspace.
pub(super) struct Library {
    handle: sys::cublasLtHandle_t,
    workspace: Memory,
    context: Arc<Context>,
}

// SAFETY: the library's handle may be used by any thread.
unsafe impl Send for Library {}

impl Library {
    pub(super) fn open(context: &Arc<Context>) -> Result<Self, CudaError> {
        // SAFETY: it tries to open the library and closes it again. Calls of it panic where it is not there, so that this comes first.
        if !unsafe { sys::is_culib_present() } {
            return Err(CudaError::NoLibrary { library: "libcublasLt" });
        }
        context.stream()?;
        let workspace = Memory::new(context, WORKSPACE)?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: a context is current; it writes the handle, which `drop` gives back.
        unsafe { call!(cublasLtCreate(&mut handle)) }?;
        Ok(Self { handle, workspace, context: Arc::clone(context) })
    }

    pub(super) fn bytes(&self) -> usize {
        self.workspace.bytes()
    }

    /// Chooses an algorithm.
    pub(super) fn plan(&self, product: Product) -> Result<Plan, CudaError> {
        use sys::cublasLtMatmulDescAttributes_t::{CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB};
        let Product { rows, outputs, inputs, pitch, mode } = product;
        // `cublasOperation_t`, which the bindings do not have: an int.
        let (normal, transposed) = (0i32, 1i32);
        // The library counts columns first: a row-major y = x W^T is to it y^T = W x^T, with W stored as its transpose.
        let weight = Layout::new(sys::cudaDataType::CUDA_R_16BF, inputs, outputs, pitch)?;
        let x = Layout::new(sys::cudaDataType::CUDA_R_16BF, inputs, rows, inputs)?;
        let y = Layout::new(mode.dtype(), outputs, rows, outputs)?;
        let operation = Operation::new()?;
        operation.set(CUBLASLT_MATMUL_DESC_TRANSA, &transposed)?;
        operation.set(CUBLASLT_MATMUL_DESC_TRANSB, &normal)?;
        let preference = Preference::new()?;
        let mut found = MaybeUninit::<sys::cublasLtMatmulHeuristicResult_t>::zeroed();
        let mut count = 0;
        self.context.stream()?;
        // SAFETY: all descriptors live; it writes at most one result, for which there is room, and how many there are.
        let searched = unsafe {
            call!(cublasLtMatmulAlgoGetHeuristic(
                self.handle,
                operation.0,
                weight.0,
                x.0,
                y.0,
                y.0,
                preference.0,
                1,
                found.as_mut_ptr(),
                &mut count,
            ))
        };
        let none = CudaError::NoAlgorithm { rows, outputs, inputs };
        match searched {
            Ok(()) if count == 1 => {}
            Ok(()) => return Err(none),
            Err(CudaError::Gemm { status, .. }) if status.contains("NOT_SUPPORTED") => return Err(none),
            Err(error) => return Err(error),
        }
        // SAFETY: one result was written.
        let found = unsafe { found.assume_init() };
        Ok(Plan { product, operation, weight, x, y, algorithm: found.algo })
    }

    /// Computes a product of bf16 operands.
    pub(super) fn run(&self, plan: &Plan, weight: &Memory, x: &Memory, y: &mut Memory) -> Result<(), CudaError> {
        let Product { rows, outputs, inputs, pitch, mode } = plan.product;
        let needed = [((outputs - 1) * pitch + inputs) * 2, rows * inputs * 2, rows * outputs * mode.bytes()];
        let have = [weight.bytes(), x.bytes(), y.bytes()];
        assert!(needed.iter().zip(have).all(|(&needed, have)| needed <= have), "{needed:?} bytes of operands of {have:?}");
        assert!([weight, x, &*y].iter().all(|m| Arc::ptr_eq(m.context(), &self.context)), "operands of another device");
        let alpha = 1.0f32;
        let beta = if mode == Mode::Add { 1.0f32 } else { 0.0 };
        let stream = self.context.stream()?;
        let output = y.address() as *mut c_void;
        // SAFETY: handle, descriptors and stream live; the operands have the bytes of their descriptors, as asserted, and the
        // workspace is as large as it says. The two factors are read before the call returns.
        unsafe {
            call!(cublasLtMatmul(
                self.handle,
                plan.operation.0,
                std::ptr::from_ref(&alpha).cast(),
                weight.address() as *const c_void,
                plan.weight.0,
                x.address() as *const c_void,
                plan.x.0,
                std::ptr::from_ref(&beta).cast(),
                output,
                plan.y.0,
                output,
                plan.y.0,
                &plan.algorithm,
                self.workspace.address() as *mut c_void,
                self.workspace.bytes(),
                stream.cast(),
            ))
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if self.context.stream().is_ok() {
            // SAFETY: the handle is this one's own.
            let _ = unsafe { call!(cublasLtDestroy(self.handle)) };
        }
    }
}

/// A product with the algorithm that was chosen for it.
pub(super) struct Plan {
    product: Product,
    operation: Operation,
    weight: Layout,
    x: Layout,
    y: Layout,
    algorithm: sys::cublasLtMatmulAlgo_t,
}

/// Defines a descriptor of the library, destroyed on drop.
macro_rules! descriptor {
    ($(#[$doc:meta])* $name:ident($handle:ident), $destroy:ident) => {
        $(#[$doc])*
        struct $name(sys::$handle);

        // SAFETY: a descriptor may be used by any thread.
        unsafe impl Send for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the descriptor is this one's own.
                let _ = unsafe { call!($destroy(self.0)) };
            }
        }
    };
}

descriptor! {
    /// How an operand lies.
    Layout(cublasLtMatrixLayout_t), cublasLtMatrixLayoutDestroy
}
descriptor! {
    /// What is computed.
    Operation(cublasLtMatmulDesc_t), cublasLtMatmulDescDestroy
}
descriptor! {
    /// What an algorithm may use.
    Preference(cublasLtMatmulPreference_t), cublasLtMatmulPreferenceDestroy
}

impl Layout {
    /// A matrix of columns that lie `pitch` elements apart.
    fn new(dtype: sys::cudaDataType, rows: usize, columns: usize, pitch: usize) -> Result<Self, CudaError> {
        let mut layout = std::ptr::null_mut();
        // SAFETY: it writes the handle, which `drop` gives back.
        unsafe { call!(cublasLtMatrixLayoutCreate(&mut layout, dtype, rows as u64, columns as u64, pitch as i64)) }?;
        Ok(Self(layout))
    }
}

impl Operation {
    fn new() -> Result<Self, CudaError> {
        let mut operation = std::ptr::null_mut();
        let (compute, scale) = (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, sys::cudaDataType::CUDA_R_32F);
        // SAFETY: it writes the handle, which `drop` gives back.
        unsafe { call!(cublasLtMatmulDescCreate(&mut operation, compute, scale)) }?;
        Ok(Self(operation))
    }

    fn set(&self, attribute: sys::cublasLtMatmulDescAttributes_t, value: &i32) -> Result<(), CudaError> {
        let size = size_of::<i32>();
        // SAFETY: the descriptor lives; it reads a value of that size.
        unsafe { call!(cublasLtMatmulDescSetAttribute(self.0, attribute, std::ptr::from_ref(value).cast(), size)) }
    }
}

impl Preference {
    fn new() -> Result<Self, CudaError> {
        use sys::cublasLtMatmulPreferenceAttributes_t::*;
        let mut preference = std::ptr::null_mut();
        // SAFETY: it writes the handle, which `drop` gives back.
        unsafe { call!(cublasLtMatmulPreferenceCreate(&mut preference)) }?;
        let preference = Self(preference);
        preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &(WORKSPACE as u64))?;
        // Sums that are split are added in f32 and in one order, not in the output's type or as they come.
        let in_f32 = sys::cublasLtReductionScheme_t::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE as u32;
        preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &in_f32)?;
        Ok(preference)
    }

    fn set<T>(&self, attribute: sys::cublasLtMatmulPreferenceAttributes_t, value: &T) -> Result<(), CudaError> {
        let value_bytes = std::ptr::from_ref(value).cast();
        // SAFETY: the descriptor lives; it reads a value of that size, which the library compares with the attribute's.
        unsafe { call!(cublasLtMatmulPreferenceSetAttribute(self.0, attribute, value_bytes, size_of::<T>())) }
    }
}
