//! `latent_append` on sm_90a: norms latents, rotates their last elements, and writes both to the paged cache.
//! Generated from kernel-templates/latent_append/TEMPLATE.toml; edit that, then `cargo build`.

use std::marker::PhantomData;
use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceAngles, DeviceElement, DeviceLatentCache,
    DeviceRows, DeviceVector, Instance, KernelSet, Launch, Parameter, Run,
};
use tenon_core::dtype::KvDtype;
use tenon_core::rope::RopeLayout;

/// Norms latents, rotates their last elements, and writes both to the paged cache.
#[derive(Debug)]
pub struct LatentAppend<
    const KV_LORA_RANK: usize,
    const QK_ROPE_HEAD_DIM: usize,
    D: KvDtype + DeviceElement,
> {
    kernels: KernelSet,
    types: PhantomData<fn() -> (D,)>,
}

impl<
    const KV_LORA_RANK: usize,
    const QK_ROPE_HEAD_DIM: usize,
    D: KvDtype + DeviceElement,
> LatentAppend<KV_LORA_RANK, QK_ROPE_HEAD_DIM, D> {
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
                Parameter::number("qk_rope_head_dim", QK_ROPE_HEAD_DIM as u32),
                Parameter::name("kv_dtype", <D as DeviceElement>::NAME),
            ],
        )?;
        Ok(Self {
            kernels,
            types: PhantomData,
        })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<const LATENT_WIDTH: usize, L: RopeLayout>(
        &self,
        run: &Run<'_>,
        latent: &DeviceRows<Bf16, LATENT_WIDTH>,
        weight: &DeviceVector<KV_LORA_RANK>,
        eps: f32,
        angles: &DeviceAngles<QK_ROPE_HEAD_DIM, L>,
        cache: &mut DeviceLatentCache<D, KV_LORA_RANK, QK_ROPE_HEAD_DIM>,
    ) -> Result<(), CudaError> {
        const { assert!(LATENT_WIDTH == KV_LORA_RANK + QK_ROPE_HEAD_DIM) };
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [dims.rows.div_ceil(4), 1, 1],
            block: [128, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    latent.arg(dims.rows),
                    weight.arg(),
                    Arg::float(eps),
                    angles.cos(dims.rows),
                    angles.sin(dims.rows),
                    cache.arg_mut(),
                    Arg::count(dims.rows),
                ],
            )
    }
}
