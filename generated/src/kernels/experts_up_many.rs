//! `experts_up_many` on sm_90a: the first products of experts and what stands between the products, for many tokens: tiles of the pairs sorted by expert.
//! Generated from kernel-templates/experts_up_many/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceRows, DeviceStack, DeviceWorkspace, I32,
    Instance, KernelSet, Launch, Run,
};

/// The first products of experts and what stands between the products, for many tokens: tiles of the pairs sorted by expert.
#[derive(Debug)]
pub struct ExpertsUpMany {
    kernels: KernelSet,
}

impl ExpertsUpMany {
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
        order: &DeviceWorkspace<I32>,
        offsets: &DeviceWorkspace<I32>,
        tiles: &DeviceWorkspace<I32>,
        inner: &mut DeviceWorkspace<Bf16>,
        limit: f32,
        alpha: f32,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let (kernel, _) = self.kernels.of(Some(stack.format()), 1);
        let launch = Launch {
            grid: [
                INTERMEDIATE.div_ceil(64),
                (dims.rows * TOP_K).min((dims.rows * TOP_K).div_ceil(128) + EXPERTS),
                1,
            ],
            block: [256, 1, 1],
            shared_bytes: 98304,
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
                    order.arg(dims.rows * TOP_K),
                    offsets.arg(EXPERTS + 1),
                    tiles
                        .arg(
                            (dims.rows * TOP_K)
                                .min((dims.rows * TOP_K).div_ceil(128) + EXPERTS) * 2,
                        ),
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
