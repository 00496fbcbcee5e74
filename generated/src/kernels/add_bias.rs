//! `add_bias` on sm_90a: x += bias, row by row.
//! Generated from kernel-templates/add_bias/TEMPLATE.toml; edit that, then `cargo build`.

use std::marker::PhantomData;
use std::sync::Arc;

use tenon_core::cuda::{
    Arg, CudaError, Device, DeviceElement, DeviceRows, DeviceVector, Instance, KernelSet,
    Launch, Parameter, Run,
};

/// x += bias, row by row.
#[derive(Debug)]
pub struct AddBias<X: DeviceElement> {
    kernels: KernelSet,
    types: PhantomData<fn() -> (X,)>,
}

impl<X: DeviceElement> AddBias<X> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[Parameter::name("x_dtype", <X as DeviceElement>::NAME)],
        )?;
        Ok(Self {
            kernels,
            types: PhantomData,
        })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<const DIM: usize>(
        &self,
        run: &Run<'_>,
        x: &mut DeviceRows<X, DIM>,
        bias: &DeviceVector<DIM>,
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
                    bias.arg(),
                    Arg::count(DIM),
                    Arg::count(dims.rows),
                ],
            )
    }
}
