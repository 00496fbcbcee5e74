//! The state of a model with 16 elements per row where the layer has 128.

use tenon_core::batch::Batch;
use tenon_core::cpu::{Cpu, mamba2_update};
use tenon_core::linear::{Decay, Vector};
use tenon_core::rows::Rows;
use tenon_core::state::Mamba2State;

fn layer(
    cpu: &Cpu,
    xbc: &Rows<f32, 768>,
    dt: &Rows<f32, 8>,
    a: &Decay<8>,
    d: &Vector<8>,
    state: &mut Mamba2State<8, 64, 16, 768, 4>,
    batch: &Batch,
    y: &mut Rows<f32, 512>,
) {
    mamba2_update::<8, 64, 128, 1, _, _, _>(cpu, xbc, dt, a, d, d, 0.001, state, batch, y);
}

fn main() {}
