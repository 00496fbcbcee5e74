//! `linear_gated` on sm_90a: y = act(G x) * (U x) for a few rows: two products and what joins them, in one launch.
//! Generated from kernel-templates/linear_gated/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceLinear, DeviceRows, Instance, KernelSet, Launch,
    Run,
};

/// y = act(G x) * (U x) for a few rows: two products and what joins them, in one launch.
#[derive(Debug)]
pub struct LinearGated {
    kernels: KernelSet,
}

impl LinearGated {
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
        run: &Run<'_>,
        gate: &DeviceLinear<OUT, IN>,
        up: &DeviceLinear<OUT, IN>,
        x: &DeviceRows<Bf16, IN>,
        y: &mut DeviceRows<Bf16, OUT>,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let (kernel, bucket) = self.kernels.of(Some(gate.format()), dims.rows);
        let format = gate.format();
        let launch = Launch {
            grid: [
                OUT
                    .div_ceil(4 * bucket.min(2))
                    .min(OUT.div_ceil(4 * bucket.min(2) * format.per_scale()).max(264)),
                1,
                1,
            ],
            block: [256 * bucket.min(2), 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    gate.planes(),
                    up.planes(),
                    gate.scales(),
                    up.scales(),
                    Arg::float(gate.factor()),
                    Arg::float(up.factor()),
                    x.arg(dims.rows),
                    y.arg_mut(dims.rows),
                    Arg::count(OUT),
                    Arg::count(IN),
                    Arg::count(dims.rows),
                ],
            )
    }
}
