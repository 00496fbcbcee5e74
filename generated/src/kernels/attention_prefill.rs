//! `attention_prefill` on sm_90a: causal attention of spans of several tokens over the paged cache: tiles of query rows, with or without a window, sinks and a soft cap.
//! Generated from kernel-templates/attention_prefill/TEMPLATE.toml; edit that, then `cargo build`.

use std::marker::PhantomData;
use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceElement, DevicePagedKv, DeviceRows, DeviceVector,
    Instance, KernelSet, Launch, Parameter, Run,
};
use tenon_core::dtype::KvDtype;

/// Causal attention of spans of several tokens over the paged cache: tiles of query rows, with or without a window, sinks and a soft cap.
#[derive(Debug)]
pub struct AttentionPrefill<
    D: KvDtype + DeviceElement,
    const HEAD_DIM: usize,
    const GROUP: usize,
    const TILE_Q: usize,
    const TILE_KV: usize,
> {
    kernels: KernelSet,
    types: PhantomData<fn() -> (D,)>,
}

impl<
    D: KvDtype + DeviceElement,
    const HEAD_DIM: usize,
    const GROUP: usize,
    const TILE_Q: usize,
    const TILE_KV: usize,
> AttentionPrefill<D, HEAD_DIM, GROUP, TILE_Q, TILE_KV> {
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
                Parameter::number("head_dim", HEAD_DIM as u32),
                Parameter::number("group", GROUP as u32),
                Parameter::number("tile_q", TILE_Q as u32),
                Parameter::number("tile_kv", TILE_KV as u32),
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
        const NUM_KEY_VALUE_HEADS: usize,
        const Q_WIDTH: usize,
        const SINKS_WIDTH: usize,
    >(
        &self,
        run: &Run<'_>,
        q: &DeviceRows<Bf16, Q_WIDTH>,
        kv: &DevicePagedKv<D, NUM_KEY_VALUE_HEADS, HEAD_DIM>,
        sinks: Option<&DeviceVector<SINKS_WIDTH>>,
        out: &mut DeviceRows<Bf16, Q_WIDTH>,
        scale: f32,
        window: usize,
        soft_cap: f32,
    ) -> Result<(), CudaError> {
        const { assert!(Q_WIDTH == NUM_KEY_VALUE_HEADS * GROUP * HEAD_DIM) };
        const { assert!(SINKS_WIDTH == NUM_KEY_VALUE_HEADS * GROUP) };
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [
                (dims.span_tokens * GROUP)
                    .div_ceil(
                        TILE_Q
                            .min(
                                320 - 64 * (HEAD_DIM.div_ceil(64) + 2 - D::BYTES).min(2)
                                    - 64 * HEAD_DIM.div_ceil(256),
                            ),
                    ),
                NUM_KEY_VALUE_HEADS,
                dims.prefill_spans,
            ],
            block: [
                128
                    + 2 * HEAD_DIM.div_ceil(256)
                        * TILE_Q
                            .min(
                                320 - 64 * (HEAD_DIM.div_ceil(64) + 2 - D::BYTES).min(2)
                                    - 64 * HEAD_DIM.div_ceil(256),
                            ),
                1,
                1,
            ],
            shared_bytes: 1088
                + 128 * HEAD_DIM.div_ceil(256)
                    * HEAD_DIM.div_ceil(64).div_ceil(HEAD_DIM.div_ceil(256))
                    * (TILE_Q
                        .min(
                            320 - 64 * (HEAD_DIM.div_ceil(64) + 2 - D::BYTES).min(2)
                                - 64 * HEAD_DIM.div_ceil(256),
                        )
                        + 4
                            * TILE_KV
                                .min(128)
                                .min(
                                    (16 + 16 * D::BYTES)
                                        * (5 - HEAD_DIM.div_ceil(128))
                                            .div_ceil(HEAD_DIM.div_ceil(128)) + 16 - 16 * D::BYTES,
                                ))
                + 2
                    * TILE_KV
                        .min(128)
                        .min(
                            (16 + 16 * D::BYTES)
                                * (5 - HEAD_DIM.div_ceil(128))
                                    .div_ceil(HEAD_DIM.div_ceil(128)) + 16 - 16 * D::BYTES,
                        ) * (2 - D::BYTES) * HEAD_DIM,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    q.arg(dims.rows),
                    kv.arg(),
                    DeviceVector::optional(sinks),
                    out.arg_mut(dims.rows),
                    Arg::float(scale),
                    Arg::count(window),
                    Arg::float(soft_cap),
                    Arg::count(NUM_KEY_VALUE_HEADS),
                ],
            )
    }
}
