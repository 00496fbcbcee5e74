//! Every part fits: the same calls as the failing cases, with the right dimensions.

use tenon_core::batch::{Batch, BatchLimits, PageId, WantLogits};
use tenon_core::cache::PagedKv;
use tenon_core::cpu::{Cpu, Isa, attention, rope};
use tenon_core::dtype::F32;
use tenon_core::layers::each_layer;
use tenon_core::rope::{Halves, Rope, RopeAngles, RopeScaling};
use tenon_core::rows::Rows;
use tenon_core::scale::SoftmaxScale;

const SCALE: SoftmaxScale = SoftmaxScale::rsqrt(64, 0.125);
const ROPE: Rope<64, Halves> = Rope::new(10000.0, RopeScaling::None);

fn main() {
    let cpu = Cpu::new(1, Isa::detect()).unwrap();
    let limits = BatchLimits {
        vocab_size: 8,
        max_positions: 16,
        page_size: 16,
        pages: 1,
        state_slots: 0,
        max_tokens: 4,
        max_logit_rows: 4,
    };
    let mut batch = Batch::new(limits);
    batch.push(&[1, 2], 0, &[PageId(0)], None, WantLogits::Last).unwrap();
    let (mut q, mut k, v) = (Rows::<f32, 384>::with_capacity(4), Rows::<f32, 128>::with_capacity(4), Rows::<f32, 128>::with_capacity(4));
    let mut v = v;
    let mut out = Rows::<f32, 384>::with_capacity(4);
    q.set_rows(2);
    k.set_rows(2);
    v.set_rows(2);
    v.as_mut_slice().fill(1.0);
    let mut angles = RopeAngles::new(&ROPE, 4);
    angles.fill(&batch);
    let mut caches = [PagedKv::<F32, 2, 64>::new(1, 16)];
    each_layer(&[()], &mut caches, |(), kv| {
        rope::<64, _, _, _>(&cpu, &mut q, &angles);
        kv.append(&cpu, &k, &v, &batch);
        attention::<4, 6, _, _, _, _>(&cpu, &q, kv, SCALE, &batch, &mut out);
    });
    assert!(out.as_slice().iter().all(|x| (x - 1.0).abs() < 1e-6));
}
