//! `sigmoid_gate_add` on sm_90a: x += sigmoid(gate) * y, with one gate per row.
//! Generated from kernel-templates/sigmoid_gate_add/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, CudaError, Device, DeviceRows, F32, Instance, KernelSet, Launch, Run,
};

/// x += sigmoid(gate) * y, with one gate per row.
#[derive(Debug)]
pub struct SigmoidGateAdd {
    kernels: KernelSet,
}

impl SigmoidGateAdd {
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
        x: &mut DeviceRows<F32, DIM>,
        gate: &DeviceRows<F32, 1>,
        y: &DeviceRows<F32, DIM>,
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
                    x.arg_mut(dims.rows),
                    gate.arg(dims.rows),
                    y.arg(dims.rows),
                    Arg::count(DIM),
                    Arg::count(dims.rows),
                ],
            )
    }
}
