//! 9 heads of 64 queried with rows of 9 x 128: an assertion of the wrapper fires.

use tenon_core::batch::Batch;
use tenon_core::cache::PagedKv;
use tenon_core::cpu::{Cpu, attention};
use tenon_core::dtype::F32;
use tenon_core::rows::Rows;
use tenon_core::scale::SoftmaxScale;

const SCALE: SoftmaxScale = SoftmaxScale::rsqrt(64, 0.125);

fn layer(cpu: &Cpu, q: &Rows<f32, 1152>, kv: &PagedKv<F32, 3, 64>, batch: &Batch, out: &mut Rows<f32, 1152>) {
    attention::<4, 9, _, _, _, _>(cpu, q, kv, SCALE, batch, out);
}

fn main() {
    // Taken as a pointer, so that it is compiled.
    std::hint::black_box(layer as fn(&_, &_, &_, &_, &mut _));
}
