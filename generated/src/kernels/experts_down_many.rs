//! `experts_down_many` on sm_90a: the last product of experts, for many tokens: tiles of the pairs sorted by expert.
//! Generated from kernel-templates/experts_down_many/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceStack, DeviceWorkspace, I32, Instance, KernelSet,
    Launch, Run, U8,
};

/// The last product of experts, for many tokens: tiles of the pairs sorted by expert.
#[derive(Debug)]
pub struct ExpertsDownMany {
    kernels: KernelSet,
}

impl ExpertsDownMany {
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
        inner: &DeviceWorkspace<Bf16>,
        stack: &DeviceStack,
        down_bias: Arg<'_>,
        order: &DeviceWorkspace<I32>,
        offsets: &DeviceWorkspace<I32>,
        tiles: &DeviceWorkspace<I32>,
        parts: &mut DeviceWorkspace<U8>,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let (kernel, _) = self.kernels.of(Some(stack.format()), 1);
        let launch = Launch {
            grid: [
                HIDDEN.div_ceil(128),
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
                    inner.arg((dims.rows * TOP_K) * INTERMEDIATE),
                    stack.planes(),
                    stack.scales(),
                    stack.factors(),
                    down_bias,
                    order.arg(dims.rows * TOP_K),
                    offsets.arg(EXPERTS + 1),
                    tiles
                        .arg(
                            (dims.rows * TOP_K)
                                .min((dims.rows * TOP_K).div_ceil(128) + EXPERTS) * 2,
                        ),
                    parts.arg_mut((dims.rows * TOP_K) * (HIDDEN * 2)),
                    Arg::count(HIDDEN),
                    Arg::count(INTERMEDIATE),
                    Arg::count(EXPERTS),
                    Arg::count(TOP_K),
                    Arg::count(dims.rows),
                ],
            )
    }
}
