//! A cache table that is one layer short: the last layer would be skipped.

use tenon_core::cache::PagedKv;
use tenon_core::dtype::F32;
use tenon_core::layers::{each_layer, per_layer};

struct Block;

fn step(blocks: &[Block; 30]) {
    let mut caches: Box<[PagedKv<F32, 3, 64>; 29]> = per_layer(|| PagedKv::new(1, 16));
    each_layer(blocks, &mut caches, |_, _| {});
}

fn main() {}
