//! A launch without its last argument: the kernel would read what happens to stand there.
//~ this method takes 11 arguments but 10 arguments were supplied

use tenon_core::cuda::{Bf16, CudaError, DevicePagedKv, DeviceRows, DeviceVector, DeviceWorkspace, F32, Run, U32};
use tenon_models::kernels::AttentionDecode;

fn attention(
    kernel: &AttentionDecode<Bf16, 128, 2, 64>,
    run: &Run<'_>,
    q: &DeviceRows<Bf16, 2048>,
    kv: &DevicePagedKv<Bf16, 8, 128>,
    out: &mut DeviceRows<Bf16, 2048>,
    workspace: &mut DeviceWorkspace<F32>,
    counters: &mut DeviceWorkspace<U32>,
) -> Result<(), CudaError> {
    kernel.launch(run, q, kv, None::<&DeviceVector<16>>, out, 0.088, 0, 0.0, workspace, counters)
}

fn main() {}
