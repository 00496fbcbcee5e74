//! Products of weights and rows on sm_90a.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::{
    Bf16, CudaError, DeviceLinear, DeviceRows, DeviceWorkspace, F32, Gemm, GemmWeight,
    Run,
};

use super::{Linear, Dequantise, LinearGated, ActMul};

/// Products of weights and rows: a kernel that reads the weights once for few rows, the matrix library for more.
#[derive(Debug)]
pub struct Matmul {
    linear: Linear,
    gemm: Gemm,
    dequantise: Option<Dequantise>,
    matrix: DeviceWorkspace<Bf16>,
}

impl Matmul {
    /// Of these kernels, and of a workspace for the largest weight that is not stored as bf16.
    pub fn new(
        linear: Linear,
        gemm: Gemm,
        dequantise: Option<Dequantise>,
        matrix: DeviceWorkspace<Bf16>,
    ) -> Self {
        Self {
            linear,
            gemm,
            dequantise,
            matrix,
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.gemm.bytes() + self.matrix.bytes()
    }

    /// y = W x, rounded to bf16.
    pub fn store<const OUT: usize, const IN: usize>(
        &mut self,
        run: &Run<'_>,
        weight: &DeviceLinear<OUT, IN>,
        x: &DeviceRows<Bf16, IN>,
        y: &mut DeviceRows<Bf16, OUT>,
    ) -> Result<(), CudaError> {
        if run.is_few() {
            return self.linear.launch(run, weight, x, y, 0);
        }
        let Self { dequantise, matrix, gemm, .. } = self;
        let bf16 = match (weight.as_bf16(), dequantise) {
            (Some(stored), _) => stored,
            (None, Some(dequantise)) => {
                dequantise.launch(run, weight, matrix)?;
                GemmWeight::dequantised(matrix)
            }
            (None, None) => {
                unreachable!("a plan that accepts other formats dequantises them")
            }
        };
        gemm.store(bf16, x, y, run.rows())
    }

    /// y = W x in f32.
    pub fn store_f32<const OUT: usize, const IN: usize>(
        &mut self,
        run: &Run<'_>,
        weight: &DeviceLinear<OUT, IN>,
        x: &DeviceRows<Bf16, IN>,
        y: &mut DeviceRows<F32, OUT>,
    ) -> Result<(), CudaError> {
        if run.is_few() {
            return self.linear.launch(run, weight, x, y, 1);
        }
        let Self { dequantise, matrix, gemm, .. } = self;
        let bf16 = match (weight.as_bf16(), dequantise) {
            (Some(stored), _) => stored,
            (None, Some(dequantise)) => {
                dequantise.launch(run, weight, matrix)?;
                GemmWeight::dequantised(matrix)
            }
            (None, None) => {
                unreachable!("a plan that accepts other formats dequantises them")
            }
        };
        gemm.store_f32(bf16, x, y, run.rows())
    }

    /// y += W x in f32.
    pub fn add<const OUT: usize, const IN: usize>(
        &mut self,
        run: &Run<'_>,
        weight: &DeviceLinear<OUT, IN>,
        x: &DeviceRows<Bf16, IN>,
        y: &mut DeviceRows<F32, OUT>,
    ) -> Result<(), CudaError> {
        if run.is_few() {
            return self.linear.launch(run, weight, x, y, 2);
        }
        let Self { dequantise, matrix, gemm, .. } = self;
        let bf16 = match (weight.as_bf16(), dequantise) {
            (Some(stored), _) => stored,
            (None, Some(dequantise)) => {
                dequantise.launch(run, weight, matrix)?;
                GemmWeight::dequantised(matrix)
            }
            (None, None) => {
                unreachable!("a plan that accepts other formats dequantises them")
            }
        };
        gemm.add(bf16, x, y, run.rows())
    }

    /// y = act(W_gate x) * (W_up x): one launch for few rows, where both weights have the same format.
    #[allow(clippy::too_many_arguments, reason = "two products and what joins them")]
    pub fn gated<const OUT: usize, const IN: usize>(
        &mut self,
        run: &Run<'_>,
        together: &LinearGated,
        act: &ActMul,
        gate: &DeviceLinear<OUT, IN>,
        up: &DeviceLinear<OUT, IN>,
        x: &DeviceRows<Bf16, IN>,
        y: &mut DeviceRows<Bf16, OUT>,
        beside: &mut DeviceRows<Bf16, OUT>,
    ) -> Result<(), CudaError> {
        if run.is_few() && gate.format() == up.format() {
            return together.launch(run, gate, up, x, y);
        }
        self.store(run, gate, x, y)?;
        self.store(run, up, x, beside)?;
        act.launch(run, y, beside)
    }
}
