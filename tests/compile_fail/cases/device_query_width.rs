//! 8 key-value heads, each with 2 heads of 128, queried with rows of 8 x 128: an assertion of the wrapper fires.
//~ assertion failed: Q_WIDTH == NUM_KEY_VALUE_HEADS * GROUP * HEAD_DIM

use tenon_core::cuda::{Bf16, CudaError, DevicePagedKv, DeviceRows, DeviceVector, DeviceWorkspace, F32, Run, U32};
use tenon_models::kernels::AttentionDecode;

fn attention(
    kernel: &AttentionDecode<Bf16, 128, 2, 64>,
    run: &Run<'_>,
    q: &DeviceRows<Bf16, 1024>,
    kv: &DevicePagedKv<Bf16, 8, 128>,
    out: &mut DeviceRows<Bf16, 1024>,
    workspace: &mut DeviceWorkspace<F32>,
    counters: &mut DeviceWorkspace<U32>,
) -> Result<(), CudaError> {
    kernel.launch(run, q, kv, None::<&DeviceVector<16>>, out, 0.088, 0, 0.0, workspace, counters, 4)
}

fn main() {
    // Taken as a pointer, so that it is compiled.
    std::hint::black_box(attention as fn(&_, &_, &_, &_, &mut _, &mut _, &mut _) -> _);
}
