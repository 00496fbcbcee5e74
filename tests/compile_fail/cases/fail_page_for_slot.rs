//! A page id where a state slot belongs: one pool's index cannot address another.

use tenon_core::batch::{Batch, PageId, WantLogits};

fn push(batch: &mut Batch, page: PageId) {
    let _ = batch.push(&[1], 0, &[page], Some(page), WantLogits::Last);
}

fn main() {}
