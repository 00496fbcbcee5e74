//! `route` on sm_90a: the experts of each token and their weights.
//! Generated from kernel-templates/route/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, CudaError, Device, DeviceRows, DeviceVector, F32, I32, Instance, KernelSet,
    Launch, Parameter, Run,
};

/// The experts of each token and their weights.
#[derive(Debug)]
pub struct Route<const EXPERTS: usize> {
    kernels: KernelSet,
}

impl<const EXPERTS: usize> Route<EXPERTS> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[Parameter::number("experts", EXPERTS as u32)],
        )?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<const TOP_K: usize>(
        &self,
        run: &Run<'_>,
        router: &DeviceRows<F32, EXPERTS>,
        bias: Option<&DeviceVector<EXPERTS>>,
        ids: &mut DeviceRows<I32, TOP_K>,
        weights: &mut DeviceRows<F32, TOP_K>,
        scores: usize,
        groups: usize,
        top_groups: usize,
        group_score: usize,
        normalise: usize,
        scaling: f32,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [dims.rows.div_ceil(4), 1, 1],
            block: [128, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    router.arg(dims.rows),
                    DeviceVector::optional(bias),
                    ids.arg_mut(dims.rows),
                    weights.arg_mut(dims.rows),
                    Arg::count(TOP_K),
                    Arg::count(scores),
                    Arg::count(groups),
                    Arg::count(top_groups),
                    Arg::count(group_score),
                    Arg::count(normalise),
                    Arg::float(scaling),
                    Arg::count(dims.rows),
                ],
            )
    }
}
