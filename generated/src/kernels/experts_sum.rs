//! `experts_sum` on sm_90a: for each token the sum of its experts' rows by weight, in the order of the routes.
//! Generated from kernel-templates/experts_sum/TEMPLATE.toml; edit that, then `cargo build`.

use std::marker::PhantomData;
use std::sync::Arc;

use tenon_core::cuda::{
    Arg, CudaError, Device, DeviceElement, DeviceRows, DeviceWorkspace, F32, I32,
    Instance, KernelSet, Launch, Parameter, Run, U8,
};

/// For each token the sum of its experts' rows by weight, in the order of the routes.
#[derive(Debug)]
pub struct ExpertsSum<Rows: DeviceElement, Out: DeviceElement> {
    kernels: KernelSet,
    types: PhantomData<fn() -> (Rows, Out)>,
}

impl<Rows: DeviceElement, Out: DeviceElement> ExpertsSum<Rows, Out> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[
                Parameter::name("rows_dtype", <Rows as DeviceElement>::NAME),
                Parameter::name("out_dtype", <Out as DeviceElement>::NAME),
            ],
        )?;
        Ok(Self {
            kernels,
            types: PhantomData,
        })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<const HIDDEN: usize, const TOP_K: usize>(
        &self,
        run: &Run<'_>,
        weights: &DeviceRows<F32, TOP_K>,
        ids: &DeviceRows<I32, TOP_K>,
        parts: &DeviceWorkspace<U8>,
        out: &mut DeviceRows<Out, HIDDEN>,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [dims.rows, HIDDEN.div_ceil(1024), 1],
            block: [256, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    weights.arg(dims.rows),
                    ids.arg(dims.rows),
                    parts.arg((dims.rows * TOP_K) * (HIDDEN * Rows::BYTES)),
                    out.arg_mut(dims.rows),
                    Arg::count(HIDDEN),
                    Arg::count(TOP_K),
                    Arg::count(dims.rows),
                ],
            )
    }
}
