//! `mamba2_scan` on sm_90a: the recurrence of Mamba2 over spans of several tokens, in chunks (arXiv 2405.21060, section 6).
//! Generated from kernel-templates/mamba2_scan/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceRows, DeviceVector, F32, Instance, KernelSet,
    Launch, Parameter, Run,
};

/// The recurrence of Mamba2 over spans of several tokens, in chunks (arXiv 2405.21060, section 6).
#[derive(Debug)]
pub struct Mamba2Scan<const HEAD_DIM: usize, const STATE: usize, const CHUNK: usize> {
    kernels: KernelSet,
}

impl<
    const HEAD_DIM: usize,
    const STATE: usize,
    const CHUNK: usize,
> Mamba2Scan<HEAD_DIM, STATE, CHUNK> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[
                Parameter::number("head_dim", HEAD_DIM as u32),
                Parameter::number("state", STATE as u32),
                Parameter::number("chunk", CHUNK as u32),
            ],
        )?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<
        const HEADS: usize,
        const GROUPS: usize,
        const XBC_WIDTH: usize,
        const Y_WIDTH: usize,
    >(
        &self,
        run: &Run<'_>,
        xbc: &DeviceRows<Bf16, XBC_WIDTH>,
        dt: &DeviceRows<F32, HEADS>,
        decay: &DeviceVector<HEADS>,
        d: &DeviceVector<HEADS>,
        dt_bias: &DeviceVector<HEADS>,
        time_step_min: f32,
        states: Arg<'_>,
        y: &mut DeviceRows<Bf16, Y_WIDTH>,
    ) -> Result<(), CudaError> {
        const { assert!(XBC_WIDTH == HEADS * HEAD_DIM + 2 * GROUPS * STATE) };
        const { assert!(Y_WIDTH == HEADS * HEAD_DIM) };
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [HEAD_DIM.div_ceil(64), HEADS, dims.prefill_spans],
            block: [384, 1, 1],
            shared_bytes: 3 * (8192 * (2 * STATE.div_ceil(64) + 3) + 2048),
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    xbc.arg(dims.rows),
                    dt.arg(dims.rows),
                    decay.arg(),
                    d.arg(),
                    dt_bias.arg(),
                    Arg::float(time_step_min),
                    states,
                    y.arg_mut(dims.rows),
                    Arg::count(HEADS),
                    Arg::count(GROUPS),
                ],
            )
    }
}
