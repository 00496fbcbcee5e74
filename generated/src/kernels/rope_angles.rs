//! `rope_angles` on sm_90a: cosines and sines of the positions of a step.
//! Generated from kernel-templates/rope_angles/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    AngleArgs, Arg, CudaError, Device, Instance, KernelSet, Launch, Run,
};

/// Cosines and sines of the positions of a step.
#[derive(Debug)]
pub struct RopeAngles {
    kernels: KernelSet,
}

impl RopeAngles {
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
    pub fn launch<const ROTARY_DIM: usize>(
        &self,
        run: &Run<'_>,
        angles: AngleArgs<'_>,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [(dims.rows * ROTARY_DIM).div_ceil(512), 1, 1],
            block: [256, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    angles.frequencies,
                    Arg::float(angles.factor),
                    angles.cos,
                    angles.sin,
                    Arg::count(ROTARY_DIM),
                    Arg::count(dims.rows),
                ],
            )
    }
}
