//! `rms_norm_add` on sm_90a: x += y / sqrt(mean(y^2) + eps) * weight, row by row: the second norm of a sandwich.
//! Generated from kernel-templates/rms_norm_add/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, CudaError, Device, DeviceRows, DeviceVector, F32, Instance, KernelSet, Launch,
    Parameter, Run,
};

/// x += y / sqrt(mean(y^2) + eps) * weight, row by row: the second norm of a sandwich.
#[derive(Debug)]
pub struct RmsNormAdd<const DIM: usize> {
    kernels: KernelSet,
}

impl<const DIM: usize> RmsNormAdd<DIM> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[Parameter::number("dim", DIM as u32)],
        )?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch(
        &self,
        run: &Run<'_>,
        y: &DeviceRows<F32, DIM>,
        weight: &DeviceVector<DIM>,
        eps: f32,
        x: &mut DeviceRows<F32, DIM>,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [dims.rows, 1, 1],
            block: [(32 * DIM.div_ceil(256)).min(512), 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    y.arg(dims.rows),
                    weight.arg(),
                    Arg::float(eps),
                    x.arg_mut(dims.rows),
                    Arg::count(dims.rows),
                ],
            )
    }
}
