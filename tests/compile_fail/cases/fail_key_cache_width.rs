//! Keys of 3 x 128 into a cache of 3 x 64.

use tenon_core::batch::Batch;
use tenon_core::cache::PagedKv;
use tenon_core::cpu::Cpu;
use tenon_core::dtype::F32;
use tenon_core::rows::Rows;

fn append(cpu: &Cpu, kv: &mut PagedKv<F32, 3, 64>, k: &Rows<f32, 384>, v: &Rows<f32, 384>, batch: &Batch) {
    kv.append(cpu, k, v, batch);
}

fn main() {
    std::hint::black_box(append as fn(&_, &mut _, &_, &_, &_));
}
