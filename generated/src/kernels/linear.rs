//! `linear` on sm_90a: y = W x for a few rows.
//! Generated from kernel-templates/linear/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceElement, DeviceLinear, DeviceRows, Instance,
    KernelSet, Launch, Run,
};

/// y = W x for a few rows.
#[derive(Debug)]
pub struct Linear {
    kernels: KernelSet,
}

impl Linear {
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
    pub fn launch<const OUT: usize, const IN: usize, YElement: DeviceElement>(
        &self,
        run: &Run<'_>,
        weight: &DeviceLinear<OUT, IN>,
        x: &DeviceRows<Bf16, IN>,
        y: &mut DeviceRows<YElement, OUT>,
        mode: usize,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let (kernel, bucket) = self.kernels.of(Some(weight.format()), dims.rows);
        let format = weight.format();
        let launch = Launch {
            grid: [
                OUT
                    .div_ceil(8 * bucket.min(2))
                    .min(OUT.div_ceil(8 * bucket.min(2) * format.per_scale()).max(264)),
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
                    weight.planes(),
                    weight.scales(),
                    Arg::float(weight.factor()),
                    x.arg(dims.rows),
                    y.arg_mut(dims.rows),
                    Arg::count(mode),
                    Arg::count(OUT),
                    Arg::count(IN),
                    Arg::count(dims.rows),
                ],
            )
    }
}
