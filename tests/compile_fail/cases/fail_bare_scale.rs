//! A softmax scale from a bare float: nobody could say which dimensions it is taken over.

use tenon_core::batch::Batch;
use tenon_core::cache::PagedKv;
use tenon_core::cpu::{Cpu, attention};
use tenon_core::dtype::F32;
use tenon_core::rows::Rows;

fn layer(cpu: &Cpu, q: &Rows<f32, 576>, kv: &PagedKv<F32, 3, 64>, batch: &Batch, out: &mut Rows<f32, 576>) {
    attention::<4, 9, _, _, _, _>(cpu, q, kv, 0.125, batch, out);
}

fn main() {}
