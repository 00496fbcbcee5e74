//! A kernel for head_dim 128 on a cache of head_dim 64: it would read the neighbouring head.
//~ expected `128`, found `64`
//~ expected reference `&DevicePagedKv<_, _, 128>`

use tenon_core::cuda::{Bf16, CudaError, DevicePagedKv, DeviceRows, DeviceVector, DeviceWorkspace, F32, Run, U32};
use tenon_models::kernels::AttentionDecode;

fn attention(
    kernel: &AttentionDecode<Bf16, 128, 2, 64>,
    run: &Run<'_>,
    q: &DeviceRows<Bf16, 2048>,
    kv: &DevicePagedKv<Bf16, 8, 64>,
    out: &mut DeviceRows<Bf16, 2048>,
    workspace: &mut DeviceWorkspace<F32>,
    counters: &mut DeviceWorkspace<U32>,
) -> Result<(), CudaError> {
    kernel.launch(run, q, kv, None::<&DeviceVector<16>>, out, 0.088, 0, 0.0, workspace, counters, 4)
}

fn main() {}
