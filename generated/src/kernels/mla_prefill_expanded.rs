//! `mla_prefill_expanded` on sm_90a: latent attention in expanded form: causal attention over keys and values that mla_expand has made.
//! Generated from kernel-templates/mla_prefill_expanded/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceRows, DeviceWorkspace, Instance, KernelSet,
    Launch, Parameter, Run,
};

/// Latent attention in expanded form: causal attention over keys and values that mla_expand has made.
#[derive(Debug)]
pub struct MlaPrefillExpanded<
    const QK_NOPE_HEAD_DIM: usize,
    const QK_ROPE_HEAD_DIM: usize,
    const V_HEAD_DIM: usize,
> {
    kernels: KernelSet,
}

impl<
    const QK_NOPE_HEAD_DIM: usize,
    const QK_ROPE_HEAD_DIM: usize,
    const V_HEAD_DIM: usize,
> MlaPrefillExpanded<QK_NOPE_HEAD_DIM, QK_ROPE_HEAD_DIM, V_HEAD_DIM> {
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
                Parameter::number("v_head_dim", V_HEAD_DIM as u32),
            ],
        )?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<
        const NUM_ATTENTION_HEADS: usize,
        const Q_WIDTH: usize,
        const ATTN_WIDTH: usize,
    >(
        &self,
        run: &Run<'_>,
        q: &DeviceRows<Bf16, Q_WIDTH>,
        keys: &DeviceWorkspace<Bf16>,
        values: &DeviceWorkspace<Bf16>,
        attn: &mut DeviceRows<Bf16, ATTN_WIDTH>,
        scale: f32,
        first_span: usize,
        first_head: usize,
        spans_of_pass: usize,
        heads_of_pass: usize,
        context_rows: usize,
    ) -> Result<(), CudaError> {
        const {
            assert!(
                Q_WIDTH == NUM_ATTENTION_HEADS * (QK_NOPE_HEAD_DIM + QK_ROPE_HEAD_DIM)
            )
        };
        const { assert!(ATTN_WIDTH == NUM_ATTENTION_HEADS * V_HEAD_DIM) };
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [dims.span_tokens.max(1).div_ceil(128), heads_of_pass, spans_of_pass],
            block: [256, 1, 1],
            shared_bytes: (16384 * (QK_NOPE_HEAD_DIM + QK_ROPE_HEAD_DIM).div_ceil(64)
                + 32768
                    * ((QK_NOPE_HEAD_DIM + QK_ROPE_HEAD_DIM).div_ceil(64)
                        + V_HEAD_DIM.div_ceil(64)))
                .min(232448),
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    q.arg(dims.rows),
                    keys
                        .arg(
                            heads_of_pass * context_rows
                                * (QK_NOPE_HEAD_DIM + QK_ROPE_HEAD_DIM),
                        ),
                    values.arg(heads_of_pass * context_rows * V_HEAD_DIM),
                    attn.arg_mut(dims.rows),
                    Arg::float(scale),
                    Arg::count(first_span),
                    Arg::count(first_head),
                    Arg::count(spans_of_pass),
                    Arg::count(heads_of_pass),
                    Arg::count(context_rows),
                    Arg::count(NUM_ATTENTION_HEADS),
                ],
            )
    }
}
