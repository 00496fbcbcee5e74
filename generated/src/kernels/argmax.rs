//! `argmax` on sm_90a: the token with the largest logit, the lowest of equals.
//! Generated from kernel-templates/argmax/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, CudaError, Device, DeviceRows, F32, Instance, KernelSet, Launch, Run,
};

/// The token with the largest logit, the lowest of equals.
#[derive(Debug)]
pub struct Argmax {
    kernels: KernelSet,
}

impl Argmax {
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
    pub fn launch<const VOCAB: usize>(
        &self,
        run: &Run<'_>,
        logits: &DeviceRows<F32, VOCAB>,
        ids: Arg<'_>,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [dims.logit_rows, 1, 1],
            block: [1024, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    logits.arg(dims.logit_rows),
                    ids,
                    Arg::count(VOCAB),
                    Arg::count(dims.logit_rows),
                ],
            )
    }
}
