//! A kernel for head_dim 128 on a cache of head_dim 64: it would read the neighbouring head.

use tenon_core::batch::Batch;
use tenon_core::cache::PagedKv;
use tenon_core::cpu::{Cpu, attention};
use tenon_core::dtype::F32;
use tenon_core::rows::Rows;
use tenon_core::scale::SoftmaxScale;

const SCALE: SoftmaxScale = SoftmaxScale::rsqrt(128, 0.088_388_35);

fn layer(cpu: &Cpu, q: &Rows<f32, 1152>, kv: &PagedKv<F32, 3, 64>, batch: &Batch, out: &mut Rows<f32, 1152>) {
    attention::<4, 9, 3, 128, _, F32>(cpu, q, kv, SCALE, batch, out);
}

fn main() {}
