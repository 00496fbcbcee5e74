//! `rms_norm` on sm_90a: x / sqrt(mean(x^2) + eps) * weight, row by row.
//! Generated from kernel-templates/rms_norm/TEMPLATE.toml; edit that, then `cargo build`.

use std::marker::PhantomData;
use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceElement, DeviceRows, DeviceVector, Instance,
    KernelSet, Launch, Parameter, Run,
};

/// x / sqrt(mean(x^2) + eps) * weight, row by row.
#[derive(Debug)]
pub struct RmsNorm<X: DeviceElement, const DIM: usize> {
    kernels: KernelSet,
    types: PhantomData<fn() -> (X,)>,
}

impl<X: DeviceElement, const DIM: usize> RmsNorm<X, DIM> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[
                Parameter::name("x_dtype", <X as DeviceElement>::NAME),
                Parameter::number("dim", DIM as u32),
            ],
        )?;
        Ok(Self {
            kernels,
            types: PhantomData,
        })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch(
        &self,
        run: &Run<'_>,
        x: &DeviceRows<X, DIM>,
        weight: &DeviceVector<DIM>,
        eps: f32,
        out: &mut DeviceRows<Bf16, DIM>,
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
                    x.arg(dims.rows),
                    weight.arg(),
                    Arg::float(eps),
                    out.arg_mut(dims.rows),
                    Arg::count(dims.rows),
                ],
            )
    }
}
