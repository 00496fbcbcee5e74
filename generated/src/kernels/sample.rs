//! `sample` on sm_90a: a token drawn from the softmax of each row: temperature, then top_k, then top_p.
//! Generated from kernel-templates/sample/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, CudaError, Device, DeviceRows, F32, Instance, KernelSet, Launch, Run,
};

/// A token drawn from the softmax of each row: temperature, then top_k, then top_p.
#[derive(Debug)]
pub struct Sample {
    kernels: KernelSet,
}

impl Sample {
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
        temperature: Arg<'_>,
        top_k: Arg<'_>,
        top_p: Arg<'_>,
        random: Arg<'_>,
        ids: Arg<'_>,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [8 * dims.logit_rows, 1, 1],
            block: [1024, 1, 1],
            shared_bytes: 16 * VOCAB.div_ceil(32),
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    logits.arg(dims.logit_rows),
                    temperature,
                    top_k,
                    top_p,
                    random,
                    ids,
                    Arg::count(VOCAB),
                    Arg::count(dims.logit_rows),
                ],
            )
    }
}
