//! `causal_conv_prefill` on sm_90a: depthwise causal convolution, bias and silu over spans of several tokens; the last inputs stay in the state.
//! Generated from kernel-templates/causal_conv_prefill/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, Bf16, CudaError, Device, DeviceRows, DeviceVector, Instance, KernelSet, Launch,
    Parameter, Run,
};

/// Depthwise causal convolution, bias and silu over spans of several tokens; the last inputs stay in the state.
#[derive(Debug)]
pub struct CausalConvPrefill<const CONV_KERNEL: usize> {
    kernels: KernelSet,
}

impl<const CONV_KERNEL: usize> CausalConvPrefill<CONV_KERNEL> {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(
            device,
            instances,
            &[Parameter::number("conv_kernel", CONV_KERNEL as u32)],
        )?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<const DIM: usize>(
        &self,
        run: &Run<'_>,
        x: &DeviceRows<Bf16, DIM>,
        taps: Arg<'_>,
        bias: Option<&DeviceVector<DIM>>,
        window: Arg<'_>,
        out: &mut DeviceRows<Bf16, DIM>,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let kernel = self.kernels.only();
        let launch = Launch {
            grid: [DIM.div_ceil(512), dims.span_tokens.div_ceil(32), dims.prefill_spans],
            block: [64, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    x.arg(dims.rows),
                    taps,
                    DeviceVector::optional(bias),
                    window,
                    out.arg_mut(dims.rows),
                    Arg::count(DIM),
                ],
            )
    }
}
