//! `experts_down_few` on sm_90a: the last product of experts, for 16 tokens at most.
//! Generated from kernel-templates/experts_down_few/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceRows, DeviceStack, DeviceWorkspace, I32,
    Instance, KernelSet, Launch, Run, U8,
};

/// The last product of experts, for 16 tokens at most.
#[derive(Debug)]
pub struct ExpertsDownFew {
    kernels: KernelSet,
}

impl ExpertsDownFew {
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
        ids: &DeviceRows<I32, TOP_K>,
        parts: &mut DeviceWorkspace<U8>,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let (kernel, _) = self.kernels.of(Some(stack.format()), 1);
        let launch = Launch {
            grid: [HIDDEN.div_ceil(16), dims.rows * TOP_K, 1],
            block: [128, 1, 1],
            shared_bytes: 0,
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
                    ids.arg(dims.rows),
                    parts.arg_mut((dims.rows * TOP_K) * (HIDDEN * 4)),
                    Arg::count(HIDDEN),
                    Arg::count(INTERMEDIATE),
                    Arg::count(EXPERTS),
                    Arg::count(TOP_K),
                    Arg::count(dims.rows),
                ],
            )
    }
}
