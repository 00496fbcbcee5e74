//! What threads keep is what a plan says: [`tenon_formats::memory::Room`] against the kernels, at their largest step and at smaller ones.

use tenon_formats::StorageFormat;
use tenon_formats::memory::Room;

use super::mla::{MlaForm, mla_decode, mla_prefill};
use super::spans::{gather, random_decay, random_rows, random_vector, steps};
use super::{Absorbed, Cpu, Expanded, Isa, delta_prefill, mamba2_scan};
use crate::batch::{Batch, BatchLimits, PageId, WantLogits};
use crate::cache::LatentCache;
use crate::dtype::F32;
use crate::linear::LatentUp;
use crate::rows::Rows;
use crate::scale::SoftmaxScale;
use crate::state::{DeltaState, Mamba2State};
use crate::testing::Random;

/// What threads of their own keep after `task`.
fn kept(threads: usize, task: impl FnOnce(&Cpu) + Send) -> Vec<usize> {
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            let cpu = Cpu::new(threads, Isa::detect()).unwrap();
            assert_eq!(cpu.room_bytes(), vec![0; threads], "new threads keep nothing");
            task(&cpu);
            cpu.room_bytes()
        });
        run.join().unwrap()
    })
}

const MLA: usize = 4 * (24 + 40);

/// Latent attention of 4 heads of 24 + 40, values of 20, rank 72, over a span of each length in turn.
fn latent<F: MlaForm>(cpu: &Cpu, lengths: &[usize]) {
    let most = lengths.iter().max().copied().unwrap_or(1);
    let limits = BatchLimits {
        vocab_size: 1,
        max_positions: 4096,
        page_size: 512,
        pages: 1,
        state_slots: 0,
        max_tokens: most,
        max_logit_rows: most,
    };
    let kv = LatentCache::<F32, 72, 40>::new(1, 512);
    let up = LatentUp::<4, 24, 20, 72>::pack(StorageFormat::F32, &vec![0; 4 * 4 * 44 * 72]).unwrap();
    let (mut q, mut out) = (Rows::<f32, MLA>::with_capacity(most), Rows::<f32, 80>::with_capacity(most));
    for &length in lengths {
        let mut batch = Batch::new(limits);
        batch.push(&vec![0; length], 0, &[PageId(0)], None, WantLogits::Last).unwrap();
        q.set_rows(length);
        let scale = SoftmaxScale::rsqrt(64, 0.125);
        mla_prefill::<F, _, _, _, _, _, _, _, _>(cpu, &q, &kv, &up, scale, &batch, &mut out);
        mla_decode::<F, _, _, _, _, _, _, _, _>(cpu, &q, &kv, &up, scale, &batch, &mut out);
    }
}

#[test]
fn latent_attention_keeps_what_is_planned() {
    let expanded = Room::Expanded { kv_lora_rank: 72, nope: 24, rope: 40, v: 20 };
    let absorbed = Room::Absorbed { heads: 4, kv_lora_rank: 72, rope: 40 };
    for threads in [1, 2, 3, 8] {
        // Growing steps, so that room that grows by more than it must would show.
        let lengths = [2, 90, 91, 200, 17];
        let planned = |room: Room, tokens: u64| Room::bytes(&[room], tokens, threads as u64) as usize;
        let of_expanded = kept(threads, |cpu| latent::<Expanded>(cpu, &lengths));
        // A head is a cell: threads beyond the fourth have none.
        assert_eq!(of_expanded[..threads.min(4)], vec![planned(expanded, 200); threads.min(4)]);
        let of_absorbed = kept(threads, |cpu| latent::<Absorbed>(cpu, &lengths));
        assert_eq!(of_absorbed.iter().max(), Some(&planned(absorbed, 200)), "{threads} threads");
        for length in [1, 2, 3, 33] {
            let one = kept(threads, |cpu| latent::<Absorbed>(cpu, &[length]));
            assert_eq!(one.iter().max(), Some(&planned(absorbed, length as u64)), "{threads} threads, {length} tokens");
        }
    }
}

#[test]
fn recurrences_keep_what_is_planned() {
    for threads in [1, 2, 4] {
        let lengths = [150, 30];
        let sequences = [(0, 150, 0), (1, 30, 1)];
        let mut random = Random::new(9);
        let vectors = |room: Room| vec![Room::bytes(&[room], 180, threads as u64) as usize; threads];

        let (xbc, dt) = (random_rows::<160>(&mut random, &lengths, 1.0), random_rows::<8>(&mut random, &lengths, 1.0));
        let (a, d, bias) =
            (random_decay::<8>(&mut random), random_vector(&mut random, 0.5, 1.0), random_vector(&mut random, 0.5, 1.0));
        let scan = kept(threads, |cpu| {
            let mut state = Mamba2State::<8, 12, 32, 160, 4>::new(2, 0);
            for step in steps(&sequences, 2, &[usize::MAX]) {
                let mut y = Rows::<f32, 96>::with_capacity(180);
                let (xbc, dt) = (gather(&step, &xbc), gather(&step, &dt));
                mamba2_scan::<40, 8, 12, 32, 1, _, _, _>(cpu, &xbc, &dt, &a, &d, &bias, 0.0, &mut state, &step.batch, &mut y);
            }
        });
        assert_eq!(scan, vectors(Room::Mamba2 { head_dim: 12, state: 32, chunk: 40 }));

        let qkv = random_rows::<128>(&mut random, &lengths, 1.0);
        let (a, b) = (random_rows::<8>(&mut random, &lengths, 1.0), random_rows::<8>(&mut random, &lengths, 1.0));
        let (decay, bias) = (random_decay::<8>(&mut random), random_vector(&mut random, 0.5, 1.0));
        let delta = kept(threads, |cpu| {
            let mut state = DeltaState::<8, 12, 10, 128, 4>::new(2, 0);
            for step in steps(&sequences, 2, &[usize::MAX]) {
                let mut y = Rows::<f32, 80>::with_capacity(180);
                let (qkv, a, b) = (gather(&step, &qkv), gather(&step, &a), gather(&step, &b));
                delta_prefill::<40, 2, 8, 12, 10, _, _, _>(cpu, &qkv, &a, &b, &decay, &bias, &mut state, &step.batch, &mut y);
            }
        });
        assert_eq!(delta, vectors(Room::Delta { key_dim: 12, value_dim: 10, chunk: 40 }));
    }
}
