//! Both forms of the Mamba2 recurrence against one in f64 that goes token by token and keeps the size of every term.

use super::*;
use crate::batch::{SnapshotId, StateSlot};
use crate::cpu::Isa;
use crate::cpu::spans::{CUTS, gather, random_decay, random_rows, random_vector, steps};
use crate::testing::{Random, U, product_bound, within};

/// Inputs of some sequences, and weights.
struct Case<const HEADS: usize, const CONV_DIM: usize> {
    lengths: Vec<usize>,
    xbc: Vec<Vec<[f32; CONV_DIM]>>,
    dt: Vec<Vec<[f32; HEADS]>>,
    a: Decay<HEADS>,
    d: Vector<HEADS>,
    dt_bias: Vector<HEADS>,
}

const TIME_STEP_MIN: f32 = 0.02;

impl<const HEADS: usize, const CONV_DIM: usize> Case<HEADS, CONV_DIM> {
    fn new(lengths: &[usize]) -> Self {
        let mut random = Random::new(CONV_DIM as u64);
        Self {
            lengths: lengths.to_vec(),
            xbc: random_rows(&mut random, lengths, 1.0),
            // Time steps from the minimum to 0.5, so that some heads remember hundreds of tokens and others three.
            dt: random_rows(&mut random, lengths, 4.0),
            a: random_decay(&mut random),
            d: random_vector(&mut random, 0.5, 1.0),
            dt_bias: random_vector(&mut random, -3.5, 1.0),
        }
    }

    /// Exact outputs of a sequence, with bounds: `[position][head][element]`.
    fn exact<const HEAD_DIM: usize, const STATE: usize, const GROUPS: usize>(&self, i: usize) -> Vec<(f64, f64)> {
        let mut out = vec![(0.0, 0.0); self.lengths[i] * HEADS * HEAD_DIM];
        for head in 0..HEADS {
            let group = head * GROUPS / HEADS;
            // The state, the sum of the sizes of its terms, and that of the sizes times their logarithms of decay.
            let mut state = vec![[0.0f64; 3]; HEAD_DIM * STATE];
            for (position, row) in self.xbc[i].iter().enumerate() {
                let wide = |from: usize, index: usize| f64::from(row[from + index]);
                let b_start = HEADS * HEAD_DIM + group * STATE;
                let c_start = b_start + GROUPS * STATE;
                let raw = f64::from(self.dt[i][position][head]) + f64::from(self.dt_bias.values()[head]);
                let dt = (1.0 + raw.exp()).ln().max(f64::from(TIME_STEP_MIN));
                let log = dt * f64::from(self.a.values()[head]);
                for p in 0..HEAD_DIM {
                    let x = wide(head * HEAD_DIM, p);
                    let skip = f64::from(self.d.values()[head]) * x;
                    let (mut y, mut magnitude, mut faded) = (skip, skip.abs(), 0.0);
                    for n in 0..STATE {
                        let [s, m, f] = &mut state[p * STATE + n];
                        let new = wide(b_start, n) * dt * x;
                        *f = log.exp() * (*f + *m * log.abs());
                        *s = log.exp() * *s + new;
                        *m = log.exp() * *m + new.abs();
                        let c = wide(c_start, n);
                        y += c * *s;
                        magnitude += (c * *m).abs();
                        faded += (c * *f).abs();
                    }
                    // A sum over the state of sums over the tokens before, and time steps that are rounded once, which moves a
                    // term by that times its logarithm of decay.
                    let bound = product_bound(STATE + position + 1, magnitude) + 4.0 * U * (faded + magnitude);
                    out[(position * HEADS + head) * HEAD_DIM + p] = (y, bound);
                }
            }
        }
        out
    }
}

/// Which sequences run together, and how.
struct Run<'a> {
    isa: Isa,
    threads: usize,
    sequences: &'a [(usize, usize, u32)],
    cut: &'a [usize],
}

/// Outputs of each sequence.
fn run<
    const CHUNK: usize,
    const HEADS: usize,
    const HEAD_DIM: usize,
    const STATE: usize,
    const GROUPS: usize,
    const CONV_DIM: usize,
    const Y_DIM: usize,
>(
    case: &Case<HEADS, CONV_DIM>,
    run: &Run<'_>,
) -> Vec<Vec<f32>> {
    let cpu = Cpu::new(run.threads, run.isa).unwrap();
    let mut state = Mamba2State::<HEADS, HEAD_DIM, STATE, CONV_DIM, 4>::new(5, 0);
    state.fill(f32::NAN);
    let mut out = vec![Vec::new(); case.lengths.len()];
    let mut y = Rows::<f32, Y_DIM>::with_capacity(case.lengths.iter().sum());
    for step in steps(run.sequences, 5, run.cut) {
        let (xbc, dt) = (gather(&step, &case.xbc), gather(&step, &case.dt));
        y.set_rows(y.capacity());
        y.as_mut_slice().fill(f32::NAN);
        let (a, d, bias) = (&case.a, &case.d, &case.dt_bias);
        mamba2_scan::<CHUNK, HEADS, HEAD_DIM, STATE, GROUPS, _, _, _>(
            &cpu,
            &xbc,
            &dt,
            a,
            d,
            bias,
            TIME_STEP_MIN,
            &mut state,
            &step.batch,
            &mut y,
        );
        mamba2_update::<HEADS, HEAD_DIM, STATE, GROUPS, _, _, _>(
            &cpu,
            &xbc,
            &dt,
            a,
            d,
            bias,
            TIME_STEP_MIN,
            &mut state,
            &step.batch,
            &mut y,
        );
        assert_eq!(y.rows(), step.rows.len());
        for (r, &(i, _)) in step.rows.iter().enumerate() {
            out[i].extend(y.row(r));
        }
    }
    out
}

fn check<
    const CHUNK: usize,
    const HEADS: usize,
    const HEAD_DIM: usize,
    const STATE: usize,
    const GROUPS: usize,
    const CONV_DIM: usize,
    const Y_DIM: usize,
>(
    lengths: &[usize],
) {
    let case = Case::<HEADS, CONV_DIM>::new(lengths);
    let exact: Vec<_> = (0..lengths.len()).map(|i| case.exact::<HEAD_DIM, STATE, GROUPS>(i)).collect();
    // Slots in no order, of a pool with more.
    let sequences: Vec<_> = lengths.iter().enumerate().map(|(i, &n)| (i, n, [3, 0, 4][i])).collect();
    for isa in Isa::available() {
        for &cut in CUTS {
            let of = |threads, sequences: &[_]| {
                run::<CHUNK, HEADS, HEAD_DIM, STATE, GROUPS, CONV_DIM, Y_DIM>(&case, &Run { isa, threads, sequences, cut })
            };
            let together = of(3, &sequences);
            for (i, exact) in exact.iter().enumerate() {
                let what = format!("mamba2 {HEADS}x{HEAD_DIM}x{STATE}/{GROUPS} on {isa}, cut {cut:?}");
                within(&what, STATE + lengths[i], &together[i], exact.iter().copied());
                // Alone, on one thread, in another slot: the same bits.
                let alone = of(1, &[(i, lengths[i], 1)]);
                assert_eq!(alone[i], together[i], "{what}: sequence {i}");
            }
        }
    }
}

#[test]
fn both_forms_match_the_recurrence() {
    check::<16, 1, 8, 8, 1, 24, 8>(&[50]);
    check::<16, 4, 16, 16, 2, 128, 64>(&[83, 1, 37]);
    check::<32, 6, 12, 10, 3, 132, 72>(&[70, 33, 2]);
    check::<8, 3, 5, 7, 1, 29, 15>(&[41, 8, 9]);
    check::<64, 8, 64, 32, 2, 640, 512>(&[150, 65]);
}

#[test]
fn a_long_sequence_matches_the_recurrence() {
    check::<128, 2, 40, 24, 1, 128, 80>(&[700]);
}

#[test]
fn chunks_stand_at_absolute_positions() {
    let case = Case::<6, 132>::new(&[75]);
    let of = |cut: &[usize]| {
        let run = Run { isa: Isa::detect(), threads: 2, sequences: &[(0, 75, 2)], cut };
        self::run::<16, 6, 12, 10, 3, 132, 72>(&case, &run)
    };
    // Cut between chunks, or not at all.
    let whole = of(&[75]);
    assert!(whole == of(&[16]) && whole == of(&[48]) && whole == of(&[32, 16]));
    // Cut inside a chunk, and then at its end or later.
    assert_eq!(of(&[5, 11, 48, 11]), of(&[5, 70]));
}

#[test]
fn a_restored_sequence_goes_on_as_it_would_have() {
    type State = Mamba2State<4, 16, 16, 128, 4>;
    let case = Case::<4, 128>::new(&[60]);
    let cpu = Cpu::new(2, Isa::detect()).unwrap();
    let (mut state, mut y) = (State::new(5, 2), Rows::<f32, 64>::with_capacity(60));
    state.fill(f32::NAN);
    let mut step = |state: &mut State, step: &crate::cpu::spans::Step| {
        let (xbc, dt) = (gather(step, &case.xbc), gather(step, &case.dt));
        let (a, d, bias) = (&case.a, &case.d, &case.dt_bias);
        mamba2_scan::<16, 4, 16, 16, 2, _, _, _>(&cpu, &xbc, &dt, a, d, bias, TIME_STEP_MIN, state, &step.batch, &mut y);
        mamba2_update::<4, 16, 16, 2, _, _, _>(&cpu, &xbc, &dt, a, d, bias, TIME_STEP_MIN, state, &step.batch, &mut y);
        y.as_slice().to_vec()
    };
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
    let skipped = step(&mut state, &other[1]);
    assert_ne!(skipped, went_on[0]);
}

#[test]
fn a_nan_is_not_hidden_by_the_smallest_time_step() {
    let mut case = Case::<1, 24>::new(&[4]);
    case.dt[0][1][0] = f32::NAN;
    for cut in [&[4][..], &[1]] {
        let sequences = &[(0, 4, 0)];
        let run = Run { isa: Isa::detect(), threads: 1, sequences, cut };
        let y = &self::run::<16, 1, 8, 8, 1, 24, 8>(&case, &run)[0];
        assert!(y[8..].iter().all(|y| y.is_nan()), "{y:?}");
    }
}
