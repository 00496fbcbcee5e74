//! `gated_group_norm` on sm_90a: rMS norm of y silu(z) in each group of channels, in place.
//! Generated from kernel-templates/gated_group_norm/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceRows, DeviceVector, Instance, KernelSet, Launch,
    Parameter, Run,
};

/// RMS norm of y silu(z) in each group of channels, in place.
#[derive(Debug)]
pub struct GatedGroupNorm<const DIM: usize, const GROUPS: usize> {
    kernels: KernelSet,
}

impl<const DIM: usize, const GROUPS: usize> GatedGroupNorm<DIM, GROUPS> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[
                Parameter::number("dim", DIM as u32),
                Parameter::number("groups", GROUPS as u32),
            ],
        )?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch(
        &self,
        run: &Run<'_>,
        y: &mut DeviceRows<Bf16, DIM>,
        z: &DeviceRows<Bf16, DIM>,
        weight: &DeviceVector<DIM>,
        eps: f32,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [dims.rows * GROUPS, 1, 1],
            block: [(32 * DIM.div_ceil(256 * GROUPS)).min(512), 1, 1],
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
                    Arg::count(dims.rows),
                ],
            )
    }
}
