//! Queries of 4 heads of 128 for latent attention whose keys have 64 + 32 elements: an assertion of the wrapper fires.

use tenon_core::batch::Batch;
use tenon_core::cache::LatentCache;
use tenon_core::cpu::{Absorbed, Cpu, mla_decode};
use tenon_core::dtype::F32;
use tenon_core::linear::LatentUp;
use tenon_core::rows::Rows;
use tenon_core::scale::SoftmaxScale;

const SCALE: SoftmaxScale = SoftmaxScale::rsqrt(96, 0.102_062_07);

fn layer(
    cpu: &Cpu,
    q: &Rows<f32, 512>,
    kv: &LatentCache<F32, 256, 32>,
    up: &LatentUp<4, 64, 64, 256>,
    batch: &Batch,
    out: &mut Rows<f32, 256>,
) {
    mla_decode::<Absorbed, _, _, _, _, _, _, _, _>(cpu, q, kv, up, SCALE, batch, out);
}

fn main() {
    // Taken as a pointer, so that it is compiled.
    std::hint::black_box(layer as fn(&_, &_, &_, &_, &_, &mut _));
}
