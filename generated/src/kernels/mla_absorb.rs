//! `mla_absorb` on sm_90a: queries of latent attention move into the space of latents, K^T q per head; the rotated part stays as it is.
//! Generated from kernel-templates/mla_absorb/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceRows, Instance, KernelSet, Launch, Parameter, Run,
};

/// Queries of latent attention move into the space of latents, K^T q per head; the rotated part stays as it is.
#[derive(Debug)]
pub struct MlaAbsorb<
    const QK_NOPE_HEAD_DIM: usize,
    const QK_ROPE_HEAD_DIM: usize,
    const KV_LORA_RANK: usize,
> {
    kernels: KernelSet,
}

impl<
    const QK_NOPE_HEAD_DIM: usize,
    const QK_ROPE_HEAD_DIM: usize,
    const KV_LORA_RANK: usize,
> MlaAbsorb<QK_NOPE_HEAD_DIM, QK_ROPE_HEAD_DIM, KV_LORA_RANK> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[
                Parameter::number("qk_nope_head_dim", QK_NOPE_HEAD_DIM as u32),
                Parameter::number("qk_rope_head_dim", QK_ROPE_HEAD_DIM as u32),
                Parameter::number("kv_lora_rank", KV_LORA_RANK as u32),
            ],
        )?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<
        const NUM_ATTENTION_HEADS: usize,
        const Q_WIDTH: usize,
        const Q_LATENT_WIDTH: usize,
    >(
        &self,
        run: &Run<'_>,
        q: &DeviceRows<Bf16, Q_WIDTH>,
        w_k: Arg<'_>,
        q_latent: &mut DeviceRows<Bf16, Q_LATENT_WIDTH>,
    ) -> Result<(), CudaError> {
        const {
            assert!(
                Q_WIDTH == NUM_ATTENTION_HEADS * (QK_NOPE_HEAD_DIM + QK_ROPE_HEAD_DIM)
            )
        };
        const {
            assert!(
                Q_LATENT_WIDTH == NUM_ATTENTION_HEADS * (KV_LORA_RANK + QK_ROPE_HEAD_DIM)
            )
        };
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [
                KV_LORA_RANK.div_ceil(64),
                NUM_ATTENTION_HEADS,
                dims.rows.div_ceil(64),
            ],
            block: [128, 1, 1],
            shared_bytes: 16384 * QK_NOPE_HEAD_DIM.div_ceil(64).min(4),
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    q.arg(dims.rows),
                    w_k,
                    q_latent.arg_mut(dims.rows),
                    Arg::count(NUM_ATTENTION_HEADS),
                    Arg::count(dims.rows),
                ],
            )
    }
}
