//! `delta_prefill` on sm_90a: the gated delta rule over spans of several tokens, in chunks (arXiv 2412.06464, section 3.3).
//! Generated from kernel-templates/delta_prefill/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceRows, DeviceVector, F32, Instance, KernelSet,
    Launch, Parameter, Run,
};

/// The gated delta rule over spans of several tokens, in chunks (arXiv 2412.06464, section 3.3).
#[derive(Debug)]
pub struct DeltaPrefill<
    const KEY_DIM: usize,
    const VALUE_DIM: usize,
    const CHUNK: usize,
> {
    kernels: KernelSet,
}

impl<
    const KEY_DIM: usize,
    const VALUE_DIM: usize,
    const CHUNK: usize,
> DeltaPrefill<KEY_DIM, VALUE_DIM, CHUNK> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[
                Parameter::number("key_dim", KEY_DIM as u32),
                Parameter::number("value_dim", VALUE_DIM as u32),
                Parameter::number("chunk", CHUNK as u32),
            ],
        )?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<
        const KEY_HEADS: usize,
        const VALUE_HEADS: usize,
        const QKV_WIDTH: usize,
        const Y_WIDTH: usize,
    >(
        &self,
        run: &Run<'_>,
        qkv: &DeviceRows<Bf16, QKV_WIDTH>,
        a: &DeviceRows<F32, VALUE_HEADS>,
        b: &DeviceRows<F32, VALUE_HEADS>,
        decay: &DeviceVector<VALUE_HEADS>,
        dt_bias: &DeviceVector<VALUE_HEADS>,
        states: Arg<'_>,
        y: &mut DeviceRows<Bf16, Y_WIDTH>,
    ) -> Result<(), CudaError> {
        const {
            assert!(QKV_WIDTH == 2 * KEY_HEADS * KEY_DIM + VALUE_HEADS * VALUE_DIM)
        };
        const { assert!(Y_WIDTH == VALUE_HEADS * VALUE_DIM) };
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [VALUE_DIM.div_ceil(64), VALUE_HEADS, dims.prefill_spans],
            block: [384, 1, 1],
            shared_bytes: 3 * (8192 * (2 * KEY_DIM.div_ceil(64) + 5) + 3072),
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    qkv.arg(dims.rows),
                    a.arg(dims.rows),
                    b.arg(dims.rows),
                    decay.arg(),
                    dt_bias.arg(),
                    states,
                    y.arg_mut(dims.rows),
                    Arg::count(KEY_HEADS),
                    Arg::count(VALUE_HEADS),
                ],
            )
    }
}
