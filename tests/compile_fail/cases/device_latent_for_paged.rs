//! A cache of latents where a kernel reads keys and values: another layout of the same pages.
//~ expected `&DevicePagedKv<Bf16, 8, 128>`, found `&DeviceLatentCache<Bf16, 512, 64>`

use tenon_core::cuda::{Bf16, CudaError, DeviceLatentCache, DeviceRows, DeviceVector, DeviceWorkspace, F32, Run, U32};
use tenon_models::kernels::AttentionDecode;

fn attention(
    kernel: &AttentionDecode<Bf16, 128, 2, 64>,
    run: &Run<'_>,
    q: &DeviceRows<Bf16, 2048>,
    cache: &DeviceLatentCache<Bf16, 512, 64>,
    out: &mut DeviceRows<Bf16, 2048>,
    workspace: &mut DeviceWorkspace<F32>,
    counters: &mut DeviceWorkspace<U32>,
) -> Result<(), CudaError> {
    kernel.launch::<8, 2048, 16>(run, q, cache, None::<&DeviceVector<16>>, out, 0.088, 0, 0.0, workspace, counters, 4)
}

fn main() {}
