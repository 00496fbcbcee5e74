//! `expert_tiles` on sm_90a: the pairs of tokens and experts sorted by expert, and tiles of at most 128 of one expert.
//! Generated from kernel-templates/expert_tiles/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, CudaError, Device, DeviceRows, DeviceWorkspace, I32, Instance, KernelSet,
    Launch, Parameter, Run,
};

/// The pairs of tokens and experts sorted by expert, and tiles of at most 128 of one expert.
#[derive(Debug)]
pub struct ExpertTiles<const EXPERTS: usize> {
    kernels: KernelSet,
}

impl<const EXPERTS: usize> ExpertTiles<EXPERTS> {
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
        ids: &DeviceRows<I32, TOP_K>,
        order: &mut DeviceWorkspace<I32>,
        offsets: &mut DeviceWorkspace<I32>,
        tiles: &mut DeviceWorkspace<I32>,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [1, 1, 1],
            block: [1024, 1, 1],
            shared_bytes: 4 * 32 * EXPERTS,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    ids.arg(dims.rows),
                    order.arg_mut(dims.rows * TOP_K),
                    offsets.arg_mut(EXPERTS + 1),
                    tiles
                        .arg_mut(
                            (dims.rows * TOP_K)
                                .min((dims.rows * TOP_K).div_ceil(128) + EXPERTS) * 2,
                        ),
                    Arg::count(TOP_K),
                    Arg::count(dims.rows),
                ],
            )
    }
}
