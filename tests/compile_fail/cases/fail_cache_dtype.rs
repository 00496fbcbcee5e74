//! A bf16 cache where the plan has f32: never converted, never assumed.

use tenon_core::cache::PagedKv;
use tenon_core::dtype::{Bf16, F32};

fn layer(_kv: &mut PagedKv<F32, 3, 64>) {}

fn main() {
    let mut kv = PagedKv::<Bf16, 3, 64>::new(1, 16);
    layer(&mut kv);
}
