//! `attention_decode` on sm_90a: causal attention of spans of one token over the paged cache, in parts of the context that the last thread block adds up.
//! Generated from kernel-templates/attention_decode/TEMPLATE.toml; edit that, then `cargo build`.

use std::marker::PhantomData;
use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceElement, DevicePagedKv, DeviceRows, DeviceVector,
    DeviceWorkspace, F32, Instance, KernelSet, Launch, Parameter, Run, U32,
};
use tenon_core::dtype::KvDtype;

/// Causal attention of spans of one token over the paged cache, in parts of the context that the last thread block adds up.
#[derive(Debug)]
pub struct AttentionDecode<
    D: KvDtype + DeviceElement,
    const HEAD_DIM: usize,
    const GROUP: usize,
    const TILE_KV: usize,
> {
    kernels: KernelSet,
    types: PhantomData<fn() -> (D,)>,
}

impl<
    D: KvDtype + DeviceElement,
    const HEAD_DIM: usize,
    const GROUP: usize,
    const TILE_KV: usize,
> AttentionDecode<D, HEAD_DIM, GROUP, TILE_KV> {
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
        workspace: &mut DeviceWorkspace<F32>,
        counters: &mut DeviceWorkspace<U32>,
        kv_splits: usize,
    ) -> Result<(), CudaError> {
        const { assert!(Q_WIDTH == NUM_KEY_VALUE_HEADS * GROUP * HEAD_DIM) };
        const { assert!(SINKS_WIDTH == NUM_KEY_VALUE_HEADS * GROUP) };
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [kv_splits, NUM_KEY_VALUE_HEADS, dims.decode_spans],
            block: [
                2 * HEAD_DIM.div_ceil(128) * GROUP.div_ceil(16)
                    * TILE_KV
                        .min(
                            16
                                * (5 - HEAD_DIM.div_ceil(128))
                                    .div_ceil(HEAD_DIM.div_ceil(128)),
                        ),
                1,
                1,
            ],
            shared_bytes: (16 * GROUP.div_ceil(16) * (32 * HEAD_DIM.div_ceil(16) + 16)
                + TILE_KV
                    .min(
                        16
                            * (5 - HEAD_DIM.div_ceil(128))
                                .div_ceil(HEAD_DIM.div_ceil(128)),
                    )
                    * ((4 * D::BYTES - 2) * (32 * HEAD_DIM.div_ceil(16) + 16)
                        + 6 * (2 - D::BYTES) * HEAD_DIM))
                .max(
                    4 * GROUP.div_ceil(16) * HEAD_DIM
                        * TILE_KV
                            .min(
                                16
                                    * (5 - HEAD_DIM.div_ceil(128))
                                        .div_ceil(HEAD_DIM.div_ceil(128)),
                            ),
                ),
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
                    workspace
                        .arg_mut(
                            dims.decode_spans * (NUM_KEY_VALUE_HEADS * GROUP) * kv_splits
                                * (HEAD_DIM + 2),
                        ),
                    counters.arg_mut(dims.decode_spans * NUM_KEY_VALUE_HEADS),
                    Arg::count(kv_splits),
                    Arg::count(NUM_KEY_VALUE_HEADS),
                ],
            )
    }
}
