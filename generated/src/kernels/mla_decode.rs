//! `mla_decode` on sm_90a: latent attention of spans of one token in absorbed form, the context in parts.
//! Generated from kernel-templates/mla_decode/TEMPLATE.toml; edit that, then `cargo build`.

use std::marker::PhantomData;
use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceElement, DeviceLatentCache, DeviceRows,
    DeviceWorkspace, F32, Instance, KernelSet, Launch, Parameter, Run,
};
use tenon_core::dtype::KvDtype;

/// Latent attention of spans of one token in absorbed form, the context in parts.
#[derive(Debug)]
pub struct MlaDecode<
    D: KvDtype + DeviceElement,
    const KV_LORA_RANK: usize,
    const QK_ROPE_HEAD_DIM: usize,
> {
    kernels: KernelSet,
    types: PhantomData<fn() -> (D,)>,
}

impl<
    D: KvDtype + DeviceElement,
    const KV_LORA_RANK: usize,
    const QK_ROPE_HEAD_DIM: usize,
> MlaDecode<D, KV_LORA_RANK, QK_ROPE_HEAD_DIM> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[
                Parameter::name("kv_dtype", <D as DeviceElement>::NAME),
                Parameter::number("kv_lora_rank", KV_LORA_RANK as u32),
                Parameter::number("qk_rope_head_dim", QK_ROPE_HEAD_DIM as u32),
            ],
        )?;
        Ok(Self {
            kernels,
            types: PhantomData,
        })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<
        const NUM_ATTENTION_HEADS: usize,
        const Q_LATENT_WIDTH: usize,
        const O_LATENT_WIDTH: usize,
    >(
        &self,
        run: &Run<'_>,
        q_latent: &DeviceRows<Bf16, Q_LATENT_WIDTH>,
        cache: &DeviceLatentCache<D, KV_LORA_RANK, QK_ROPE_HEAD_DIM>,
        o_latent: &mut DeviceRows<Bf16, O_LATENT_WIDTH>,
        scale: f32,
        workspace: &mut DeviceWorkspace<F32>,
        kv_splits: usize,
    ) -> Result<(), CudaError> {
        const {
            assert!(
                Q_LATENT_WIDTH == NUM_ATTENTION_HEADS * (KV_LORA_RANK + QK_ROPE_HEAD_DIM)
            )
        };
        const { assert!(O_LATENT_WIDTH == NUM_ATTENTION_HEADS * KV_LORA_RANK) };
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [NUM_ATTENTION_HEADS.div_ceil(64), kv_splits, dims.decode_spans],
            block: [384, 1, 1],
            shared_bytes: 2048
                + 8192
                    * (KV_LORA_RANK + QK_ROPE_HEAD_DIM)
                        .div_ceil(64)
                        .max(2 * KV_LORA_RANK.div_ceil(128))
                    * (3
                        + 2
                            * ((KV_LORA_RANK + QK_ROPE_HEAD_DIM)
                                .div_ceil(64)
                                .max(2 * KV_LORA_RANK.div_ceil(128))
                                .max(6)
                                - (KV_LORA_RANK + QK_ROPE_HEAD_DIM)
                                    .div_ceil(64)
                                    .max(2 * KV_LORA_RANK.div_ceil(128)))
                                .min(1))
                + 16384
                    * (1
                        - ((KV_LORA_RANK + QK_ROPE_HEAD_DIM)
                            .div_ceil(64)
                            .max(2 * KV_LORA_RANK.div_ceil(128))
                            - 2 * KV_LORA_RANK.div_ceil(128))
                            .min(1)),
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    q_latent.arg(dims.rows),
                    cache.arg(),
                    o_latent.arg_mut(dims.rows),
                    Arg::float(scale),
                    workspace
                        .arg_mut(
                            dims.decode_spans * NUM_ATTENTION_HEADS * kv_splits
                                * (KV_LORA_RANK + 2),
                        ),
                    Arg::count(kv_splits),
                    Arg::count(NUM_ATTENTION_HEADS),
                ],
            )
    }
}
