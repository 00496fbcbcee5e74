//! `dequantise` on sm_90a: a stored matrix as bf16, for a matrix product with many rows.
//! Generated from kernel-templates/dequantise/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceLinear, DeviceWorkspace, Instance, KernelSet,
    Launch, Run,
};

/// A stored matrix as bf16, for a matrix product with many rows.
#[derive(Debug)]
pub struct Dequantise {
    kernels: KernelSet,
}

impl Dequantise {
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
    pub fn launch<const OUT: usize, const IN: usize>(
        &self,
        _: &Run<'_>,
        weight: &DeviceLinear<OUT, IN>,
        out_matrix: &mut DeviceWorkspace<Bf16>,
    ) -> Result<(), CudaError> {
        let (kernel, _) = self.kernels.of(Some(weight.format()), 1);
        let launch = Launch {
            grid: [OUT, IN.div_ceil(4096), 1],
            block: [128, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    weight.planes(),
                    weight.scales(),
                    Arg::float(weight.factor()),
                    out_matrix.arg_mut(OUT * IN),
                    Arg::count(OUT),
                    Arg::count(IN),
                ],
            )
    }
}
