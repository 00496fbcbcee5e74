//! `rope_tail` on sm_90a: rotates the last elements of every head, in place.
//! Generated from kernel-templates/rope_tail/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceAngles, DeviceRows, Instance, KernelSet, Launch,
    Parameter, Run,
};
use tenon_core::rope::RopeLayout;

/// Rotates the last elements of every head, in place.
#[derive(Debug)]
pub struct RopeTail<const HEAD_DIM: usize, const ROTARY_DIM: usize> {
    kernels: KernelSet,
}

impl<const HEAD_DIM: usize, const ROTARY_DIM: usize> RopeTail<HEAD_DIM, ROTARY_DIM> {
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
            ],
        )?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<const DIM: usize, L: RopeLayout>(
        &self,
        run: &Run<'_>,
        x: &mut DeviceRows<Bf16, DIM>,
        angles: &DeviceAngles<ROTARY_DIM, L>,
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
                    x.arg_mut(dims.rows),
                    angles.cos(dims.rows),
                    angles.sin(dims.rows),
                    Arg::count(DIM),
                    Arg::count(dims.rows),
                ],
            )
    }
}
