//! `embedding` on sm_90a: rows of the embedding, dequantised.
//! Generated from kernel-templates/embedding/TEMPLATE.toml; edit that, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Arg, CudaError, Device, DeviceEmbedding, DeviceRows, F32, Instance, KernelSet,
    Launch, Run,
};

/// Rows of the embedding, dequantised.
#[derive(Debug)]
pub struct Embedding {
    kernels: KernelSet,
}

impl Embedding {
    /// Loads those of the instances that are this type's.
    pub fn load(
        device: &Arc<Device>,
        instances: &[&Instance],
    ) -> Result<Self, CudaError> {
        let kernels = KernelSet::load(device, instances, &[])?;
        Ok(Self { kernels })
    }

    /// Launches it for the rows of a pass.
    #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
    pub fn launch<const DIM: usize, const VOCAB: usize>(
        &self,
        run: &Run<'_>,
        table: &DeviceEmbedding<VOCAB, DIM>,
        x: &mut DeviceRows<F32, DIM>,
    ) -> Result<(), CudaError> {
        let dims = run.dims();
        let (kernel, _) = self.kernels.of(Some(table.format()), 1);
        let launch = Launch {
            grid: [dims.rows, DIM.div_ceil(2048), 1],
            block: [256, 1, 1],
            shared_bytes: 0,
            overlaps: true,
        };
        kernel
            .launch(
                launch,
                &[
                    run.step(),
                    table.planes(),
                    table.scales(),
                    Arg::float(table.factor()),
                    x.arg_mut(dims.rows),
                    Arg::count(DIM),
                    Arg::count(VOCAB),
                    Arg::count(dims.rows),
                ],
            )
    }
}
