//! Both forms of the gated delta rule against one in f64 that goes token by token and carries a bound of the error along.

use super::*;
use crate::batch::{SnapshotId, StateSlot};
use crate::cpu::Isa;
use crate::cpu::spans::{CUTS, Step, gather, random_decay, random_rows, random_vector, steps};
use crate::testing::{Random, U, product_bound, within};

/// Inputs of some sequences, and weights.
struct Case<const VALUE_HEADS: usize, const CONV_DIM: usize> {
    lengths: Vec<usize>,
    qkv: Vec<Vec<[f32; CONV_DIM]>>,
    a: Vec<Vec<[f32; VALUE_HEADS]>>,
    b: Vec<Vec<[f32; VALUE_HEADS]>>,
    decay: Decay<VALUE_HEADS>,
    dt_bias: Vector<VALUE_HEADS>,
}

impl<const VALUE_HEADS: usize, const CONV_DIM: usize> Case<VALUE_HEADS, CONV_DIM> {
    fn new(lengths: &[usize]) -> Self {
        let mut random = Random::new(CONV_DIM as u64);
        let mut qkv = random_rows(&mut random, lengths, 1.0);
        // Mostly positive, as after a silu: keys are alike, so that the triangular system is far from diagonal.
        qkv.iter_mut().flatten().flatten().for_each(|x: &mut f32| *x += 0.6);
        Self {
            lengths: lengths.to_vec(),
            qkv,
            a: random_rows(&mut random, lengths, 3.0),
            b: random_rows(&mut random, lengths, 4.0),
            decay: random_decay(&mut random),
            dt_bias: random_vector(&mut random, -4.0, 1.0),
        }
    }

    /// Exact outputs of a sequence, with bounds: `[position][head][element]`.
    fn exact<const KEY_HEADS: usize, const KEY_DIM: usize, const VALUE_DIM: usize>(&self, i: usize) -> Vec<(f64, f64)> {
        let mut out = vec![(0.0, 0.0); self.lengths[i] * VALUE_HEADS * VALUE_DIM];
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        for head in 0..VALUE_HEADS {
            let key_head = head * KEY_HEADS / VALUE_HEADS;
            // For each column, the state, and the square of a bound of the norm of its error.
            let mut state = vec![(vec![0.0f64; KEY_DIM], 0.0f64); VALUE_DIM];
            for (position, row) in self.qkv[i].iter().enumerate() {
                let unit = |from: usize| {
                    let x: Vec<f64> = row[from..][..KEY_DIM].iter().map(|&x| f64::from(x)).collect();
                    let size = (x.iter().map(|x| x * x).sum::<f64>() + 1e-6).sqrt();
                    x.into_iter().map(|x| x / size).collect::<Vec<f64>>()
                };
                let (q, k) = (unit(key_head * KEY_DIM), unit((KEY_HEADS + key_head) * KEY_DIM));
                let raw = f64::from(self.a[i][position][head]) + f64::from(self.dt_bias.values()[head]);
                let g = f64::from(self.decay.values()[head]) * (1.0 + raw.exp()).ln();
                let beta = 1.0 / (1.0 + (-f64::from(self.b[i][position][head])).exp());
                for (column, (s, error)) in state.iter_mut().enumerate() {
                    let v = f64::from(row[2 * KEY_HEADS * KEY_DIM + head * VALUE_DIM + column]);
                    let before = norm(s);
                    s.iter_mut().for_each(|s| *s *= g.exp());
                    let known: f64 = s.iter().zip(&k).map(|(s, k)| s * k).sum();
                    s.iter_mut().zip(&k).for_each(|(s, k)| *s += k * beta * (v - known));
                    // A step shrinks errors: keys are no longer than 1 and beta is no more. It adds those of a product over the
                    // keys, of the norms and of a few roundings, to all of which the state and the value are the scale.
                    let scale = before * g.exp() + beta * v.abs();
                    let added = product_bound(KEY_DIM, scale) + U * g.abs() * before * g.exp() + 8.0 * U * scale;
                    *error = *error * (2.0 * g).exp() + added * added;
                    let y: f64 = s.iter().zip(&q).map(|(s, q)| s * q).sum::<f64>() / (KEY_DIM as f64).sqrt();
                    let reading = product_bound(KEY_DIM, norm(s)) + 8.0 * U * norm(s);
                    let bound = (error.sqrt() + reading) / (KEY_DIM as f64).sqrt();
                    out[(position * VALUE_HEADS + head) * VALUE_DIM + column] = (y, bound);
                }
            }
        }
        out
    }
}

/// One step with both forms.
#[rustfmt::skip]
fn step<
    const CHUNK: usize, const KEY_HEADS: usize, const VALUE_HEADS: usize, const KEY_DIM: usize, const VALUE_DIM: usize,
    const CONV_DIM: usize, const Y_DIM: usize,
>(
    cpu: &Cpu,
    case: &Case<VALUE_HEADS, CONV_DIM>,
    state: &mut DeltaState<VALUE_HEADS, KEY_DIM, VALUE_DIM, CONV_DIM, 4>,
    step: &Step,
) -> Rows<f32, Y_DIM> {
    let (qkv, a, b) = (gather(step, &case.qkv), gather(step, &case.a), gather(step, &case.b));
    let mut y = Rows::with_capacity(step.rows.len() + 2);
    y.set_rows(y.capacity());
    y.as_mut_slice().fill(f32::NAN);
    let (decay, bias, batch) = (&case.decay, &case.dt_bias, &step.batch);
    delta_prefill::<CHUNK, KEY_HEADS, VALUE_HEADS, KEY_DIM, VALUE_DIM, _, _, _>(
        cpu, &qkv, &a, &b, decay, bias, state, batch, &mut y,
    );
    delta_decode::<KEY_HEADS, VALUE_HEADS, KEY_DIM, VALUE_DIM, _, _, _>(
        cpu, &qkv, &a, &b, decay, bias, state, batch, &mut y,
    );
    assert_eq!(y.rows(), step.rows.len());
    y
}

#[rustfmt::skip]
fn check<
    const CHUNK: usize, const KEY_HEADS: usize, const VALUE_HEADS: usize, const KEY_DIM: usize, const VALUE_DIM: usize,
    const CONV_DIM: usize, const Y_DIM: usize,
>(
    lengths: &[usize],
) {
    let case = Case::<VALUE_HEADS, CONV_DIM>::new(lengths);
    let exact: Vec<_> = (0..lengths.len()).map(|i| case.exact::<KEY_HEADS, KEY_DIM, VALUE_DIM>(i)).collect();
    // Slots in no order, of a pool with more.
    let sequences: Vec<_> = lengths.iter().enumerate().map(|(i, &n)| (i, n, [3, 0, 4][i])).collect();
    for isa in Isa::available() {
        for &cut in CUTS {
            let run = |threads, sequences: &[_]| {
                let cpu = Cpu::new(threads, isa).unwrap();
                let mut state = DeltaState::new(5, 0);
                state.fill(f32::NAN);
                let mut out = vec![Vec::new(); lengths.len()];
                for of in steps(sequences, 5, cut) {
                    let y: Rows<f32, Y_DIM> =
                        step::<CHUNK, KEY_HEADS, VALUE_HEADS, KEY_DIM, VALUE_DIM, _, _>(&cpu, &case, &mut state, &of);
                    for (r, &(i, _)) in of.rows.iter().enumerate() {
                        out[i].extend(y.row(r));
                    }
                }
                out
            };
            let together = run(3, &sequences);
            for (i, exact) in exact.iter().enumerate() {
                let what = format!("delta {KEY_HEADS}/{VALUE_HEADS}x{KEY_DIM}x{VALUE_DIM} on {isa}, cut {cut:?}");
                within(&what, lengths[i], &together[i], exact.iter().copied());
                // Alone, on one thread, in another slot: the same bits.
                let alone = run(1, &[(i, lengths[i], 1)]);
                assert_eq!(alone[i], together[i], "{what}: sequence {i}");
            }
        }
    }
}

#[test]
fn both_forms_match_the_recurrence() {
    check::<16, 1, 1, 8, 8, 24, 8>(&[50]);
    check::<16, 2, 4, 16, 16, 128, 64>(&[83, 1, 37]);
    check::<32, 3, 3, 12, 10, 102, 30>(&[70, 33, 2]);
    check::<8, 1, 3, 5, 7, 31, 21>(&[41, 8, 9]);
    check::<64, 2, 8, 64, 40, 576, 320>(&[150, 65]);
}

#[test]
fn a_long_sequence_matches_the_recurrence() {
    check::<128, 1, 2, 32, 24, 112, 48>(&[700]);
}

#[test]
fn chunks_stand_at_absolute_positions() {
    let case = Case::<3, 102>::new(&[75]);
    let cpu = Cpu::new(2, Isa::detect()).unwrap();
    let of = |cut: &[usize]| {
        let mut state = DeltaState::<3, 12, 10, 102, 4>::new(5, 0);
        let steps = steps(&[(0, 75, 2)], 5, cut);
        let rows = steps.iter().flat_map(|of| step::<16, 3, 3, 12, 10, 102, 30>(&cpu, &case, &mut state, of).as_slice().to_vec());
        rows.collect::<Vec<_>>()
    };
    // Cut between chunks, or not at all.
    let whole = of(&[75]);
    assert!(whole == of(&[16]) && whole == of(&[48]) && whole == of(&[32, 16]));
    // Cut inside a chunk, and then at its end or later.
    assert_eq!(of(&[5, 11, 48, 11]), of(&[5, 70]));
}

#[test]
fn a_restored_sequence_goes_on_as_it_would_have() {
    let case = Case::<4, 128>::new(&[60]);
    let cpu = Cpu::new(2, Isa::detect()).unwrap();
    let mut state = DeltaState::<4, 16, 16, 128, 4>::new(5, 2);
    state.fill(f32::NAN);
    let step = |state: &mut _, of: &Step| step::<16, 2, 4, 16, 16, 128, 64>(&cpu, &case, state, of).as_slice().to_vec();
    let (first, other) = (steps(&[(0, 60, 1)], 5, &[20, 1]), steps(&[(0, 60, 4)], 5, &[20, 1]));
    step(&mut state, &first[0]);
    state.save(StateSlot(1), SnapshotId(1));
    let went_on: Vec<_> = first[1..].iter().map(|s| step(&mut state, s)).collect();
    state.restore(SnapshotId(1), StateSlot(4));
    let restored: Vec<_> = other[1..].iter().map(|s| step(&mut state, s)).collect();
    assert_eq!(restored, went_on);
    // Without the snapshot it would not: the first step matters to those after it.
    state.restore(SnapshotId(1), StateSlot(4));
    step(&mut state, &other[1]);
    assert_ne!(step(&mut state, &other[1]), went_on[0]);
}

#[test]
fn a_query_of_zeros_reads_zeros() {
    let mut case = Case::<1, 24>::new(&[4]);
    case.qkv[0].iter_mut().for_each(|row| row[..16].fill(0.0));
    let cpu = Cpu::new(1, Isa::detect()).unwrap();
    let mut state = DeltaState::<1, 8, 8, 24, 4>::new(5, 0);
    for of in steps(&[(0, 4, 0)], 5, &[3, 1]) {
        let y: Rows<f32, 8> = step::<16, 1, 1, 8, 8, 24, 8>(&cpu, &case, &mut state, &of);
        assert!(y.as_slice().iter().all(|y| *y == 0.0));
    }
}
