//! Every part fits: the same calls as the refused wirings, with the right dimensions. It runs where there is no device, too.

use tenon_core::batch::{SnapshotId, StateSlot};
use tenon_core::cuda::{
    Bf16, CudaError, DeviceDeltaState, DevicePagedKv, DeviceRows, DeviceVector, DeviceWorkspace, F32, Instance, Parameter, Run, U32,
    name_number,
};
use tenon_models::kernels::{Add, AttentionDecode};

type Decode = AttentionDecode<Bf16, 128, 2, 64>;

#[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
fn attention(
    kernel: &Decode,
    run: &Run<'_>,
    q: &DeviceRows<Bf16, 2048>,
    kv: &DevicePagedKv<Bf16, 8, 128>,
    out: &mut DeviceRows<Bf16, 2048>,
    workspace: &mut DeviceWorkspace<F32>,
    counters: &mut DeviceWorkspace<U32>,
) -> Result<(), CudaError> {
    kernel.launch(run, q, kv, None::<&DeviceVector<16>>, out, 0.088, 0, 0.0, workspace, counters, 4)
}

fn residual(add: &Add, run: &Run<'_>, x: &mut DeviceRows<F32, 1024>, y: &DeviceRows<F32, 1024>) -> Result<Vec<f32>, CudaError> {
    add.launch(run, x, y)?;
    x.download(1)
}

fn go_on(state: &mut DeviceDeltaState<4, 16, 16, 128, 4>, slot: StateSlot, snapshot: SnapshotId) -> Result<(), CudaError> {
    state.restore(snapshot, slot)
}

const PLANNED: Instance = Instance {
    name: "attention_decode_bf16_hd128_g2_tk64",
    cubin: &[],
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 128),
        Parameter::number("group", 2),
        Parameter::number("tile_kv", 64),
    ],
    shared_bytes: 0,
};

fn main() {
    // Taken as pointers, so that they are compiled.
    std::hint::black_box(attention as fn(&_, &_, &_, &_, &mut _, &mut _, &mut _) -> _);
    std::hint::black_box((residual as fn(&_, &_, &mut _, &_) -> _, go_on as fn(&mut _, _, _) -> _));
    // An instance of other dimensions than the plan's is refused before anything is launched.
    let bf16 = name_number("bf16");
    assert_eq!(PLANNED.compare(&[bf16, 128, 2, 64]), Ok(()));
    let told = PLANNED.compare(&[bf16, 256, 2, 64]).unwrap_err().to_string();
    let wanted = "kernel attention_decode_bf16_hd128_g2_tk64: head_dim is 128 in the plan, and it was compiled with 256";
    assert!(told.starts_with(wanted), "{told}");
}
