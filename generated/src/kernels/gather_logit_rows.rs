//! `gather_logit_rows` on sm_90a: the rows that want logits.
//! Generated from kernel-templates/gather_logit_rows/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, CudaError, Device, DeviceRows, F32, Instance, KernelSet, Launch, Run,
};

/// The rows that want logits.
#[derive(Debug)]
pub struct GatherLogitRows {
    kernels: KernelSet,
}

impl GatherLogitRows {
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
        x: &DeviceRows<F32, DIM>,
        last: &mut DeviceRows<F32, DIM>,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [dims.logit_rows, 1, 1],
            block: [256, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    x.arg(dims.rows),
                    last.arg_mut(dims.logit_rows),
                    Arg::count(DIM),
                    Arg::count(dims.logit_rows),
                ],
            )
    }
}
