//! The convolution against one in f64 over whole sequences. Its bits do not depend on how a sequence is cut into steps.

use tenon_formats::StorageFormat;

use super::*;
use crate::batch::{SnapshotId, StateSlot};
use crate::cpu::Isa;
use crate::cpu::spans::{CUTS, Step, gather, random_rows, steps, stored};
use crate::linear::RowOrder;
use crate::state::DeltaState;
use crate::testing::{Random, U, product_bound, within};

type State<const DIM: usize, const KERNEL: usize> = DeltaState<1, 1, 1, DIM, KERNEL>;

struct Case<const DIM: usize, const KERNEL: usize> {
    lengths: Vec<usize>,
    x: Vec<Vec<[f32; DIM]>>,
    weights: Vec<f32>,
    bias: Option<Vec<f32>>,
}

impl<const DIM: usize, const KERNEL: usize> Case<DIM, KERNEL> {
    fn new(lengths: &[usize], bias: bool) -> Self {
        let mut random = Random::new(DIM as u64);
        let x = random_rows(&mut random, lengths, 2.0);
        let weights = random.units(DIM * KERNEL);
        Self { lengths: lengths.to_vec(), x, weights, bias: bias.then(|| random.units(DIM)) }
    }

    fn step(&self, cpu: &Cpu, state: &mut State<DIM, KERNEL>, step: &Step) -> Rows<f32, DIM> {
        let mut x = gather(step, &self.x);
        let conv = Conv::decode(StorageFormat::F32, &stored(&self.weights)).unwrap();
        match &self.bias {
            None => causal_conv(cpu, &mut x, &conv, state, &step.batch),
            Some(bias) => {
                let bias = Bias::decode(StorageFormat::F32, &stored(bias), RowOrder::Stored).unwrap();
                causal_conv_bias(cpu, &mut x, &conv, &bias, state, &step.batch);
            }
        }
        x
    }

    fn run(&self, isa: Isa, threads: usize, sequences: &[(usize, usize, u32)], cut: &[usize]) -> Vec<Vec<f32>> {
        let cpu = Cpu::new(threads, isa).unwrap();
        let mut state = State::new(5, 0);
        state.fill(f32::NAN);
        let mut out = vec![Vec::new(); self.lengths.len()];
        for step in steps(sequences, 5, cut) {
            let y = self.step(&cpu, &mut state, &step);
            for (r, &(i, _)) in step.rows.iter().enumerate() {
                out[i].extend(y.row(r));
            }
        }
        out
    }

    fn exact(&self, i: usize) -> Vec<(f64, f64)> {
        let mut out = Vec::new();
        for position in 0..self.lengths[i] {
            for channel in 0..DIM {
                let bias = self.bias.as_ref().map_or(0.0, |b| f64::from(b[channel]));
                let (mut sum, mut magnitude) = (bias, bias.abs());
                for back in 0..KERNEL.min(position + 1) {
                    let weight = f64::from(self.weights[channel * KERNEL + (KERNEL - 1 - back)]);
                    let term = weight * f64::from(self.x[i][position - back][channel]);
                    sum += term;
                    magnitude += term.abs();
                }
                let y = sum / (1.0 + (-sum).exp());
                // The slope of silu is at most 1.1, and its own error 8 u.
                out.push((y, 1.1 * product_bound(KERNEL + 1, magnitude) + 8.0 * U * y.abs()));
            }
        }
        out
    }
}

fn check<const DIM: usize, const KERNEL: usize>(lengths: &[usize], bias: bool) {
    let case = Case::<DIM, KERNEL>::new(lengths, bias);
    let sequences: Vec<_> = lengths.iter().enumerate().map(|(i, &n)| (i, n, [3, 0, 4][i])).collect();
    for isa in Isa::available() {
        let whole = case.run(isa, 3, &sequences, &[usize::MAX]);
        for (i, y) in whole.iter().enumerate() {
            within(&format!("conv of {DIM} channels on {isa}"), KERNEL, y, case.exact(i));
        }
        for &cut in CUTS.iter().chain(&[&[2][..], &[2, 1]]) {
            assert_eq!(case.run(isa, 2, &sequences, cut), whole, "cut {cut:?}");
        }
        assert_eq!(case.run(isa, 1, &[(0, lengths[0], 1)], &[3])[0], whole[0]);
    }
}

#[test]
fn matches_the_formula_however_it_is_cut() {
    check::<5, 4>(&[23, 1, 2], false);
    check::<24, 2>(&[7, 3], true);
    check::<100, 3>(&[41, 40, 5], true);
    check::<675, 4>(&[90, 17, 3], false);
    // Two blocks of channels on one thread, the second ragged.
    check::<1541, 4>(&[9, 4, 1], true);
    check::<19, 16>(&[50, 9], true);
}

#[test]
fn a_restored_window_goes_on_as_it_would_have() {
    let case = Case::<40, 4>::new(&[9], true);
    let cpu = Cpu::new(1, Isa::detect()).unwrap();
    let mut state = State::new(5, 1);
    state.fill(f32::NAN);
    let (first, other) = (steps(&[(0, 9, 2)], 5, &[2, 4, 3]), steps(&[(0, 9, 0)], 5, &[2, 4, 3]));
    case.step(&cpu, &mut state, &first[0]);
    state.save(StateSlot(2), SnapshotId(0));
    let went_on: Vec<_> = first[1..].iter().map(|s| case.step(&cpu, &mut state, s).as_slice().to_vec()).collect();
    state.restore(SnapshotId(0), StateSlot(0));
    let restored: Vec<_> = other[1..].iter().map(|s| case.step(&cpu, &mut state, s).as_slice().to_vec()).collect();
    assert_eq!(restored, went_on);
    // The window matters: after the wrong step, the outputs are others.
    let again = case.step(&cpu, &mut state, &other[1]).as_slice().to_vec();
    assert_ne!(again, went_on[0]);
}
