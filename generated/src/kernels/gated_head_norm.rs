//! `gated_head_norm` on sm_90a: rMS norm of each head, times silu(z), in place.
//! Generated from kernel-templates/gated_head_norm/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceRows, DeviceVector, Instance, KernelSet, Launch,
    Parameter, Run,
};

/// RMS norm of each head, times silu(z), in place.
#[derive(Debug)]
pub struct GatedHeadNorm<const HEAD_DIM: usize> {
    kernels: KernelSet,
}

impl<const HEAD_DIM: usize> GatedHeadNorm<HEAD_DIM> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[Parameter::number("head_dim", HEAD_DIM as u32)],
        )?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<const DIM: usize>(
        &self,
        run: &Run<'_>,
        y: &mut DeviceRows<Bf16, DIM>,
        z: &DeviceRows<Bf16, DIM>,
        weight: &DeviceVector<HEAD_DIM>,
        eps: f32,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [(dims.rows * DIM).div_ceil(16 * HEAD_DIM), 1, 1],
            block: [256, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    y.arg_mut(dims.rows),
                    z.arg(dims.rows),
                    weight.arg(),
                    Arg::float(eps),
                    Arg::count(DIM),
                    Arg::count(dims.rows),
                ],
            )
    }
}
