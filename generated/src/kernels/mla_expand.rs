//! `mla_expand` on sm_90a: keys and values of every head from the latents of whole contexts: [K c, rotated part] and V c.
//! Generated from kernel-templates/mla_expand/TEMPLATE.toml; edit that, then `cargo build`.

use std::marker::PhantomData;
use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceElement, DeviceLatentCache, DeviceWorkspace,
    Instance, KernelSet, Launch, Parameter, Run,
};
use tenon_core::dtype::KvDtype;

/// Keys and values of every head from the latents of whole contexts: [K c, rotated part] and V c.
#[derive(Debug)]
pub struct MlaExpand<
    D: KvDtype + DeviceElement,
    const QK_NOPE_HEAD_DIM: usize,
    const QK_ROPE_HEAD_DIM: usize,
    const V_HEAD_DIM: usize,
    const KV_LORA_RANK: usize,
> {
    kernels: KernelSet,
    types: PhantomData<fn() -> (D,)>,
}

impl<
    D: KvDtype + DeviceElement,
    const QK_NOPE_HEAD_DIM: usize,
    const QK_ROPE_HEAD_DIM: usize,
    const V_HEAD_DIM: usize,
    const KV_LORA_RANK: usize,
> MlaExpand<D, QK_NOPE_HEAD_DIM, QK_ROPE_HEAD_DIM, V_HEAD_DIM, KV_LORA_RANK> {
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
                Parameter::number("qk_nope_head_dim", QK_NOPE_HEAD_DIM as u32),
                Parameter::number("qk_rope_head_dim", QK_ROPE_HEAD_DIM as u32),
                Parameter::number("v_head_dim", V_HEAD_DIM as u32),
                Parameter::number("kv_lora_rank", KV_LORA_RANK as u32),
            ],
        )?;
        Ok(Self {
            kernels,
            types: PhantomData,
        })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch(
        &self,
        run: &Run<'_>,
        cache: &DeviceLatentCache<D, KV_LORA_RANK, QK_ROPE_HEAD_DIM>,
        w_k: Arg<'_>,
        w_v: Arg<'_>,
        keys: &mut DeviceWorkspace<Bf16>,
        values: &mut DeviceWorkspace<Bf16>,
        first_span: usize,
        first_head: usize,
        spans_of_pass: usize,
        heads_of_pass: usize,
        context_rows: usize,
    ) -> Result<(), CudaError> {
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [
                context_rows.div_ceil(128),
                (heads_of_pass * QK_NOPE_HEAD_DIM).div_ceil(128)
                    + (heads_of_pass * V_HEAD_DIM).div_ceil(128) + 1,
                1,
            ],
            block: [256, 1, 1],
            shared_bytes: 49152 + 24576 * D::BYTES + 16384 * (2 - D::BYTES),
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    cache.arg(),
                    w_k,
                    w_v,
                    keys
                        .arg_mut(
                            heads_of_pass * context_rows
                                * (QK_NOPE_HEAD_DIM + QK_ROPE_HEAD_DIM),
                        ),
                    values.arg_mut(heads_of_pass * context_rows * V_HEAD_DIM),
                    Arg::count(first_span),
                    Arg::count(first_head),
                    Arg::count(spans_of_pass),
                    Arg::count(heads_of_pass),
                    Arg::count(context_rows),
                ],
            )
    }
}
