//! `experts_up_few` on sm_90a: the first products of experts and what stands between the products, for 16 tokens at most.
//! Generated from kernel-templates/experts_up_few/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceRows, DeviceStack, DeviceWorkspace, I32,
    Instance, KernelSet, Launch, Run,
};

/// The first products of experts and what stands between the products, for 16 tokens at most.
#[derive(Debug)]
pub struct ExpertsUpFew {
    kernels: KernelSet,
}

impl ExpertsUpFew {
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
    pub fn launch<
        const HIDDEN: usize,
        const INTERMEDIATE: usize,
        const EXPERTS: usize,
        const TOP_K: usize,
    >(
        &self,
        run: &Run<'_>,
        x: &DeviceRows<Bf16, HIDDEN>,
        stack: &DeviceStack,
        gate_bias: Arg<'_>,
        up_bias: Arg<'_>,
        ids: &DeviceRows<I32, TOP_K>,
        inner: &mut DeviceWorkspace<Bf16>,
        limit: f32,
        alpha: f32,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let (kernel, _) = self.kernels.of(Some(stack.format()), 1);
        let launch = Launch {
            grid: [INTERMEDIATE.div_ceil(8), dims.rows * TOP_K, 1],
            block: [128, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    x.arg(dims.rows),
                    stack.planes(),
                    stack.scales(),
                    stack.factors(),
                    gate_bias,
                    up_bias,
                    ids.arg(dims.rows),
                    inner.arg_mut((dims.rows * TOP_K) * INTERMEDIATE),
                    Arg::float(limit),
                    Arg::float(alpha),
                    Arg::count(HIDDEN),
                    Arg::count(INTERMEDIATE),
                    Arg::count(EXPERTS),
                    Arg::count(TOP_K),
                    Arg::count(dims.rows),
                ],
            )
    }
}
