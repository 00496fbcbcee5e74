//! A CUDA device: its memory in types that carry dimensions, its kernels, and what generated code launches them with.
//!
//! Device memory is another type than the host's. No address leaves this module except inside an [`Arg`], which lives as long as the
//! borrow of the memory that it points to, and memory returns to its device on drop. The calls of the driver stand in `driver`, those
//! of cuBLASLt in `lt`, and nothing else here is unsafe. There is no event tracking: one stream orders everything.

mod angles;
mod arg;
mod bucket;
mod buffer;
mod cache;
mod device;
mod driver;
mod error;
mod experts;
mod gemm;
mod graph;
mod kernel;
mod linear;
mod loader;
mod lt;
mod manifest;
mod planes;
mod rows;
mod run;
mod sample;
mod stack;
mod state;
mod step;
mod upload;

pub use self::angles::{AngleArgs, DeviceAngles};
pub use self::arg::Arg;
pub use self::bucket::{Buckets, StepDims};
pub use self::buffer::{DeviceBuffer, DeviceElement, F32, I32, U8, U32};
pub use self::cache::{DeviceLatentCache, DevicePagedKv};
pub use self::device::Device;
pub use self::error::CudaError;
pub use self::experts::{DeviceExperts, DeviceStack};
pub use self::gemm::{Gemm, GemmWeight};
pub use self::graph::{Graphs, Turn};
pub use self::kernel::{Instance, Kernel, Launch};
pub use self::linear::{DeviceEmbedding, DeviceLatentUp, DeviceLinear};
pub use self::loader::{DeviceLoader, Progress};
pub use self::manifest::{Parameter, name_number};
pub use self::rows::{DeviceConv, DeviceRows, DeviceVector, DeviceWorkspace};
pub use self::run::{BUSY_BLOCKS, FEW_ROWS, KernelSet, MOST_SPLITS, Pass, Phase, PlanMaxima, Run};
pub use self::sample::SampledRows;
pub use self::state::{DeviceDeltaState, DeviceMamba2State};
pub use self::step::StepBuffer;
pub use crate::dtype::Bf16;

#[cfg(test)]
mod tests {
    use super::*;

    /// A model on a device is a `Model`, which moves to the thread that drives it.
    #[test]
    fn what_a_model_holds_may_move_to_another_thread() {
        fn send<T: Send>() {}
        fn shared<T: Send + Sync>() {}
        shared::<Device>();
        shared::<Kernel>();
        send::<(DeviceRows<F32, 8>, DeviceVector<8>, DeviceWorkspace<I32>, DeviceConv<8, 4>)>();
        send::<(DeviceLinear<8, 8>, DeviceEmbedding<8, 8>, DeviceExperts<2, 8, 8>, DeviceLatentUp<1, 8, 8, 8>)>();
        send::<(DevicePagedKv<Bf16, 1, 8>, DeviceLatentCache<F32, 8, 8>)>();
        send::<(DeviceMamba2State<1, 8, 8, 8, 4>, DeviceDeltaState<1, 8, 8, 8, 4>)>();
        send::<(DeviceAngles<8, crate::rope::Halves>, StepBuffer, SampledRows, Gemm, Graphs)>();
    }

    /// Without a driver there is an error, and no panic.
    #[test]
    fn a_machine_without_a_driver_says_so() {
        if Device::count() == Err(CudaError::NoDriver) {
            assert_eq!(Device::open(0).unwrap_err(), CudaError::NoDriver);
        }
    }
}
