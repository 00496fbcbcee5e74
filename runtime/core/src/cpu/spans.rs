//! Sequences that are cut into steps, for the tests of recurrent kernels.

use tenon_formats::StorageFormat;

use crate::batch::{Batch, BatchLimits, PageId, StateSlot, WantLogits};
use crate::linear::{Decay, Vector};
use crate::rows::Rows;
use crate::testing::Random;

/// One step of some sequences.
pub(super) struct Step {
    pub(super) batch: Batch,
    /// The sequence and position of each row.
    pub(super) rows: Vec<(usize, usize)>,
}

/// Steps of `sequences`, each an index, a length, and its slot in a pool of `slots`: in its step `k`, sequence `i` has `cut[(i + k) %
/// cut.len()]` tokens, so that one step mixes prefills with decodes.
pub(super) fn steps(sequences: &[(usize, usize, u32)], slots: usize, cut: &[usize]) -> Vec<Step> {
    let most: usize = sequences.iter().map(|s| s.1).sum();
    let limits = BatchLimits {
        vocab_size: 1,
        max_positions: 4096,
        page_size: 4096,
        pages: slots,
        state_slots: slots,
        max_tokens: most,
        max_logit_rows: most,
    };
    let mut done: Vec<usize> = vec![0; sequences.len()];
    let mut all = Vec::new();
    for k in 0.. {
        let (mut batch, mut rows) = (Batch::new(limits), Vec::new());
        for (&(i, length, slot), done) in sequences.iter().zip(&mut done).filter(|(s, done)| s.1 > **done) {
            let end = length.min(done.saturating_add(cut[(i + k) % cut.len()]));
            let tokens = vec![0; end - *done];
            batch.push(&tokens, *done, &[PageId(slot)], Some(StateSlot(slot)), WantLogits::Last).unwrap();
            rows.extend((*done..end).map(|position| (i, position)));
            *done = end;
        }
        if rows.is_empty() {
            break;
        }
        all.push(Step { batch, rows });
    }
    all
}

/// One random row for each position of each sequence.
pub(super) fn random_rows<const D: usize>(random: &mut Random, lengths: &[usize], size: f32) -> Vec<Vec<[f32; D]>> {
    lengths.iter().map(|&n| (0..n).map(|_| std::array::from_fn(|_| size * random.unit())).collect()).collect()
}

/// The rows of a step.
pub(super) fn gather<const D: usize>(step: &Step, all: &[Vec<[f32; D]>]) -> Rows<f32, D> {
    let mut rows = Rows::with_capacity(step.rows.len());
    rows.set_rows(step.rows.len());
    for (r, &(i, position)) in step.rows.iter().enumerate() {
        *rows.row_mut(r) = all[i][position];
    }
    rows
}

/// Little-endian f32.
pub(super) fn stored(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A vector of random values around `middle`.
pub(super) fn random_vector<const N: usize>(random: &mut Random, middle: f32, size: f32) -> Vector<N> {
    let values: Vec<f32> = random.units(N).iter().map(|x| middle + size * x).collect();
    Vector::decode(StorageFormat::F32, &stored(&values)).unwrap()
}

/// Decays from -1/8 to -16.
pub(super) fn random_decay<const N: usize>(random: &mut Random) -> Decay<N> {
    let logs: Vec<f32> = random.units(N).iter().map(|x| (2.0f32).ln() * (0.5 + 3.5 * x)).collect();
    Decay::decode(StorageFormat::F32, &stored(&logs)).unwrap()
}

/// The cuts that every recurrent kernel is tested with: whole sequences, one token at a time, across the ends of chunks and inside
/// them, and mixtures.
pub(super) const CUTS: &[&[usize]] = &[&[usize::MAX], &[1], &[17], &[16], &[5, 1, 40, 1, 1, 3], &[32, 1]];
