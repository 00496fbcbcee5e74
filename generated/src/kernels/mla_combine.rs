//! `mla_combine` on sm_90a: the parts that mla_decode left of each context become one output.
//! Generated from kernel-templates/mla_combine/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceRows, DeviceWorkspace, F32, Instance, KernelSet,
    Launch, Parameter, Run,
};

/// The parts that mla_decode left of each context become one output.
#[derive(Debug)]
pub struct MlaCombine<const KV_LORA_RANK: usize> {
    kernels: KernelSet,
}

impl<const KV_LORA_RANK: usize> MlaCombine<KV_LORA_RANK> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[Parameter::number("kv_lora_rank", KV_LORA_RANK as u32)],
        )?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<const NUM_ATTENTION_HEADS: usize, const O_LATENT_WIDTH: usize>(
        &self,
        run: &Run<'_>,
        workspace: &DeviceWorkspace<F32>,
        o_latent: &mut DeviceRows<Bf16, O_LATENT_WIDTH>,
        kv_splits: usize,
    ) -> Result<(), CudaError> {
        const { assert!(O_LATENT_WIDTH == NUM_ATTENTION_HEADS * KV_LORA_RANK) };
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [NUM_ATTENTION_HEADS, dims.decode_spans, 1],
            block: [128, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    workspace
                        .arg(
                            dims.decode_spans * NUM_ATTENTION_HEADS * kv_splits
                                * (KV_LORA_RANK + 2),
                        ),
                    o_latent.arg_mut(dims.rows),
                    Arg::count(kv_splits),
                    Arg::count(NUM_ATTENTION_HEADS),
                ],
            )
    }
}
