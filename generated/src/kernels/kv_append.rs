//! `kv_append` on sm_90a: writes keys and values to the paged cache, rounded to its dtype.
//! Generated from kernel-templates/kv_append/TEMPLATE.toml; edit that, then `cargo build`.

use std::marker::PhantomData;
use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceElement, DevicePagedKv, DeviceRows, Instance,
    KernelSet, Launch, Parameter, Run,
};
use tenon_core::dtype::KvDtype;

/// Writes keys and values to the paged cache, rounded to its dtype.
#[derive(Debug)]
pub struct KvAppend<const HEAD_DIM: usize, D: KvDtype + DeviceElement> {
    kernels: KernelSet,
    types: PhantomData<fn() -> (D,)>,
}

impl<const HEAD_DIM: usize, D: KvDtype + DeviceElement> KvAppend<HEAD_DIM, D> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[
                Parameter::number("head_dim", HEAD_DIM as u32),
                Parameter::name("kv_dtype", <D as DeviceElement>::NAME),
            ],
        )?;
        Ok(Self {
            kernels,
            types: PhantomData,
        })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<const NUM_KEY_VALUE_HEADS: usize, const K_WIDTH: usize>(
        &self,
        run: &Run<'_>,
        k: &DeviceRows<Bf16, K_WIDTH>,
        v: &DeviceRows<Bf16, K_WIDTH>,
        kv: &mut DevicePagedKv<D, NUM_KEY_VALUE_HEADS, HEAD_DIM>,
    ) -> Result<(), CudaError> {
        const { assert!(K_WIDTH == NUM_KEY_VALUE_HEADS * HEAD_DIM) };
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [(dims.rows * NUM_KEY_VALUE_HEADS).div_ceil(8), 1, 1],
            block: [256, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    k.arg(dims.rows), v.arg(dims.rows), kv.arg_mut(), Arg::count(NUM_KEY_VALUE_HEADS), Arg::count(dims.rows), ])}}
