//! `rope_append` on sm_90a: norms and rotates the heads of queries and keys, and writes keys and values to the paged cache.
//! Generated from kernel-templates/rope_append/TEMPLATE.toml; edit that, then `cargo build`.

use std::marker::PhantomData;
use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceAngles, DeviceElement, DevicePagedKv, DeviceRows,
    DeviceVector, Instance, KernelSet, Launch, Parameter, Run,
};
use tenon_core::dtype::KvDtype;
use tenon_core::rope::RopeLayout;

/// Norms and rotates the heads of queries and keys, and writes keys and values to the paged cache.
#[derive(Debug)]
pub struct RopeAppend<
    const HEAD_DIM: usize,
    const ROTARY_DIM: usize,
    D: KvDtype + DeviceElement,
> {
    kernels: KernelSet,
    types: PhantomData<fn() -> (D,)>,
}

impl<
    const HEAD_DIM: usize,
    const ROTARY_DIM: usize,
    D: KvDtype + DeviceElement,
> RopeAppend<HEAD_DIM, ROTARY_DIM, D> {
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
                Parameter::number("rotary_dim", ROTARY_DIM as u32),
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
    pub fn launch<
        const NUM_ATTENTION_HEADS: usize,
        const NUM_KEY_VALUE_HEADS: usize,
        const Q_WIDTH: usize,
        const K_WIDTH: usize,
        L: RopeLayout,
    >(
        &self,
        run: &Run<'_>,
        q: &mut DeviceRows<Bf16, Q_WIDTH>,
        k: &DeviceRows<Bf16, K_WIDTH>,
        v: &DeviceRows<Bf16, K_WIDTH>,
        q_weight: Option<&DeviceVector<HEAD_DIM>>,
        k_weight: Option<&DeviceVector<HEAD_DIM>>,
        eps: f32,
        angles: &DeviceAngles<ROTARY_DIM, L>,
        kv: &mut DevicePagedKv<D, NUM_KEY_VALUE_HEADS, HEAD_DIM>,
    ) -> Result<(), CudaError> {
        const { assert!(Q_WIDTH == NUM_ATTENTION_HEADS * HEAD_DIM) };
        const { assert!(K_WIDTH == NUM_KEY_VALUE_HEADS * HEAD_DIM) };
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [
                (dims.rows * (NUM_ATTENTION_HEADS + 2 * NUM_KEY_VALUE_HEADS))
                    .div_ceil(16),
                1,
                1,
            ],
            block: [256, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    q.arg_mut(dims.rows),
                    k.arg(dims.rows), v.arg(dims.rows), DeviceVector::optional(q_weight), DeviceVector::optional(k_weight), Arg::float(eps), angles.cos(dims.rows), angles.sin(dims.rows), kv.arg_mut(), Arg::count(NUM_ATTENTION_HEADS), Arg::count(NUM_KEY_VALUE_HEADS), Arg::count(dims.rows), ])}}
