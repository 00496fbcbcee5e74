//! `query_scale` on sm_90a: q *= 1 + beta ln(1 + floor(position / original)), in place.
//! Generated from kernel-templates/query_scale/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceRows, Instance, KernelSet, Launch, Run,
};

/// q *= 1 + beta ln(1 + floor(position / original)), in place.
#[derive(Debug)]
pub struct QueryScale {
    kernels: KernelSet,
}

impl QueryScale {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(device, instances, &[])?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<const DIM: usize>(
        &self,
        run: &Run<'_>,
        q: &mut DeviceRows<Bf16, DIM>,
        beta: f32,
        original: f32,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [(dims.rows * DIM).div_ceil(2048), 1, 1],
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
                    Arg::float(beta),
                    Arg::float(original),
                    Arg::count(DIM),
                    Arg::count(dims.rows),
                ],
            )
    }
}
