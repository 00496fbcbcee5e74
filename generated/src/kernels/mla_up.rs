//! `mla_up` on sm_90a: what latent attention gathered becomes the output of each head, V o.
//! Generated from kernel-templates/mla_up/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceRows, Instance, KernelSet, Launch, Parameter, Run,
};

/// What latent attention gathered becomes the output of each head, V o.
#[derive(Debug)]
pub struct MlaUp<const KV_LORA_RANK: usize, const V_HEAD_DIM: usize> {
    kernels: KernelSet,
}

impl<
    const KV_LORA_RANK: usize,
    const V_HEAD_DIM: usize,
> MlaUp<KV_LORA_RANK, V_HEAD_DIM> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[
                Parameter::number("kv_lora_rank", KV_LORA_RANK as u32),
                Parameter::number("v_head_dim", V_HEAD_DIM as u32),
            ],
        )?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<
        const NUM_ATTENTION_HEADS: usize,
        const O_LATENT_WIDTH: usize,
        const ATTN_WIDTH: usize,
    >(
        &self,
        run: &Run<'_>,
        o_latent: &DeviceRows<Bf16, O_LATENT_WIDTH>,
        w_v: Arg<'_>,
        attn: &mut DeviceRows<Bf16, ATTN_WIDTH>,
    ) -> Result<(), CudaError> {
        const { assert!(O_LATENT_WIDTH == NUM_ATTENTION_HEADS * KV_LORA_RANK) };
        const { assert!(ATTN_WIDTH == NUM_ATTENTION_HEADS * V_HEAD_DIM) };
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [V_HEAD_DIM.div_ceil(64), NUM_ATTENTION_HEADS, dims.rows.div_ceil(64)],
            block: [128, 1, 1],
            shared_bytes: 16384 * KV_LORA_RANK.div_ceil(64).min(4),
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    o_latent.arg(dims.rows),
                    w_v,
                    attn.arg_mut(dims.rows),
                    Arg::count(NUM_ATTENTION_HEADS),
                    Arg::count(dims.rows),
                ],
            )
    }
}
