//! Recurrent layers: the causal convolution, Mamba2 and the gated delta rule.

use tenon_core::cpu;
use tenon_core::linear::{Bias, Conv, Decay, RowOrder, Vector};
use tenon_core::rows::Rows;
use tenon_core::state::{DeltaState, Mamba2State};
use tenon_device_cases::{StepCase, recurrence};
use tenon_formats::StorageFormat;

use super::rows::rows_of;
use super::{Inputs, Output, dispatch, maximum, step, stored};

/// Tokens of a chunk, and taps of the convolution that the states of recurrences come with.
const CHUNK: usize = 64;
const KERNEL: usize = 2;

/// Sequences of one token with `decode`, else the others, that have a state: with their slots.
fn served(step: &StepCase, decode: bool) -> Vec<(usize, usize)> {
    let sequences = if decode { step.decode() } else { step.prefill() };
    sequences.into_iter().filter_map(|s| Some((s, usize::try_from(step.slots[s]).ok()?))).collect()
}

/// The rows of these sequences; of others NaN.
fn of_rows(
    step: &StepCase,
    served: &[(usize, usize)],
    width: usize,
    mut element: impl FnMut(usize) -> (f64, f64),
) -> Vec<(f64, f64)> {
    let mut out = vec![(f64::NAN, 0.0); step.rows * width];
    let first = step.first();
    for &(sequence, _) in served {
        let begin = first[sequence] * width;
        for (i, out) in out[begin..][..step.spans[sequence].1 * width].iter_mut().enumerate() {
            *out = element(begin + i);
        }
    }
    out
}

/// Outputs of the convolution, whose bounds are those of the reference, and the inputs that it keeps.
pub fn conv(inputs: &Inputs<'_>, decode: bool) -> Option<Vec<Output>> {
    dispatch!((inputs.params.int("conv_kernel"), inputs.int("dim")?), (TAPS, DIM) => conv_of::<DIM, TAPS>(inputs, decode);
        (4, 520) (4, 72) (4, 8) (2, 520) (2, 72) (2, 8))
}

fn conv_of<const DIM: usize, const TAPS: usize>(inputs: &Inputs<'_>, decode: bool) -> Option<Vec<Output>> {
    let step = inputs.step()?;
    let mut x = rows_of::<DIM>(&inputs.numbers("x")?[..step.tokens() * DIM]);
    let taps = inputs.numbers("taps")?;
    let by_channel: Vec<f32> = (0..DIM * TAPS).map(|i| taps[i % TAPS * DIM + i / TAPS]).collect();
    let conv = Conv::<DIM, TAPS>::decode(StorageFormat::F32, &stored(&by_channel)).ok()?;
    let mut state = DeltaState::<1, 1, 1, DIM, TAPS>::new(step::slots(step), 0);
    let before = inputs.numbers("window")?;
    state.live().windows()[..before.len()].copy_from_slice(&before);
    let batch = step::batch_with_slots(step)?;
    match inputs.numbers("bias") {
        None => cpu::causal_conv(&inputs.cpu, &mut x, &conv, &mut state, &batch),
        Some(bias) => {
            let bias = Bias::decode(StorageFormat::F32, &stored(&bias), RowOrder::Stored).ok()?;
            cpu::causal_conv_bias(&inputs.cpu, &mut x, &conv, &bias, &mut state, &batch);
        }
    }
    let served = served(step, decode);
    let number = |x: f32| if x.is_nan() { f64::INFINITY } else { f64::from(x) };
    let out = of_rows(step, &served, DIM, |i| (number(x.as_slice()[i]), 0.0));
    let entry = (TAPS - 1) * DIM;
    let mut window = vec![f64::NAN; before.len()];
    for &(_, slot) in &served {
        let kept = &state.live().windows()[slot * entry..][..entry];
        window[slot * entry..][..entry].iter_mut().zip(kept).for_each(|(to, &x)| *to = number(x));
    }
    let of_reference = |arg, values| Output { arg, values, own: super::Own::OfReference };
    Some(vec![of_reference("out", out.into_iter().map(|(value, _)| value).collect()), of_reference("window", window)])
}

/// The decays of heads. A checkpoint has their logarithms, so that each comes back within one rounding, which is part of what an
/// exponential of it may be off.
fn decay_of<const HEADS: usize>(values: &[f32]) -> Option<Decay<HEADS>> {
    let logarithms: Vec<f32> = values.iter().map(|x| f64::from(-x).ln() as f32).collect();
    Decay::decode(StorageFormat::F32, &stored(&logarithms)).ok()
}

fn vector_of<const N: usize>(values: &[f32]) -> Option<Vector<N>> {
    Vector::decode(StorageFormat::F32, &stored(values)).ok()
}

/// States of the device, `[slot][head][column][row]`, to and from those of the CPU, `[slot][head][row][column]` with columns rounded up
/// to a multiple of 8.
struct Layout {
    heads: usize,
    rows: usize,
    columns: usize,
}

impl Layout {
    fn entry(&self) -> usize {
        self.heads * self.rows * self.columns
    }

    /// Where element `i` of the device's states is on the CPU.
    fn on_cpu(&self, i: usize) -> usize {
        let (matrix, column, row) = (i / (self.rows * self.columns), i / self.rows % self.columns, i % self.rows);
        (matrix * self.rows + row) * self.columns.next_multiple_of(8) + column
    }

    /// Puts down the states that a case begins with.
    fn put(&self, states: &[f32], on_cpu: &mut [f32]) {
        for (i, &value) in states.iter().enumerate() {
            on_cpu[self.on_cpu(i)] = value;
        }
    }

    /// The states and outputs of the sequences that were served. A recurrence of so many tokens has errors of the size of the largest
    /// number that it went through, and an output is one more sum over `rows`.
    fn outputs(&self, step: &StepCase, decode: bool, before: &[f32], on_cpu: &[f32], y: &[f32]) -> Vec<Output> {
        let served = served(step, decode);
        let tokens = served.iter().map(|&(s, _)| step.spans[s].1).max().unwrap_or(1);
        let (largest, largest_y) = (maximum(before).max(maximum(on_cpu)), maximum(y));
        let mut states = vec![(f64::NAN, 0.0); before.len()];
        for &(_, slot) in &served {
            for i in slot * self.entry()..(slot + 1) * self.entry() {
                let value = f64::from(on_cpu[self.on_cpu(i)]);
                states[i] = (value, recurrence(tokens + self.rows, value, largest));
            }
        }
        let element = |i: usize| (f64::from(y[i]), recurrence(tokens + self.rows, f64::from(y[i]), largest_y));
        let y = of_rows(step, &served, self.heads * self.columns, element);
        vec![Output::bounded("states", states), Output::bounded("y", y)]
    }
}

/// Chunks of several tokens, and single steps with `decode`.
#[rustfmt::skip]
pub fn mamba2(inputs: &Inputs<'_>, decode: bool) -> Option<Vec<Output>> {
    let shape = (inputs.int("heads")?, inputs.int("groups")?, inputs.params.int("head_dim"), inputs.params.int("state"));
    dispatch!(shape, (H, G, D, S) => mamba2_of::<H, G, D, S, { H * D + 2 * G * S }, { H * D }>(inputs, decode);
        (4, 2, 64, 128) (2, 2, 64, 128) (2, 1, 64, 128) (1, 1, 64, 128) (6, 2, 64, 128)
        (4, 2, 24, 40) (2, 2, 24, 40) (2, 1, 24, 40) (1, 1, 24, 40) (6, 2, 24, 40))
}

fn mamba2_of<const H: usize, const G: usize, const D: usize, const S: usize, const XBC: usize, const Y: usize>(
    inputs: &Inputs<'_>,
    decode: bool,
) -> Option<Vec<Output>> {
    let (step, cpu) = (inputs.step()?, &inputs.cpu);
    let (tokens, batch) = (step.tokens(), step::batch_with_slots(step)?);
    let xbc = rows_of::<XBC>(&inputs.numbers("xbc")?[..tokens * XBC]);
    let dt = rows_of::<H>(&inputs.numbers("dt")?[..tokens * H]);
    let a = decay_of::<H>(&inputs.numbers("decay")?)?;
    let (d, bias) = (vector_of::<H>(&inputs.numbers("d")?)?, vector_of::<H>(&inputs.numbers("dt_bias")?)?);
    let least = inputs.float("time_step_min")?;
    let (layout, before) = (Layout { heads: H, rows: S, columns: D }, inputs.numbers("states")?);
    let mut state = Mamba2State::<H, D, S, XBC, KERNEL>::new(step::slots(step), 0);
    layout.put(&before, state.live().states());
    let mut y = Rows::<f32, Y>::with_capacity(tokens);
    cpu::mamba2_scan::<CHUNK, H, D, S, G, XBC, KERNEL, Y>(cpu, &xbc, &dt, &a, &d, &bias, least, &mut state, &batch, &mut y);
    if decode {
        cpu::mamba2_update::<H, D, S, G, XBC, KERNEL, Y>(cpu, &xbc, &dt, &a, &d, &bias, least, &mut state, &batch, &mut y);
    }
    Some(layout.outputs(step, decode, &before, state.live().states(), y.as_slice()))
}

/// The same of the delta rule.
#[rustfmt::skip]
pub fn delta(inputs: &Inputs<'_>, decode: bool) -> Option<Vec<Output>> {
    let heads = (inputs.int("key_heads")?, inputs.int("value_heads")?);
    let shape = (heads.0, heads.1, inputs.params.int("key_dim"), inputs.params.int("value_dim"));
    dispatch!(shape, (KH, VH, K, V) => delta_of::<KH, VH, K, V, { 2 * KH * K + VH * V }, { VH * V }>(inputs, decode);
        (2, 4, 128, 128) (2, 2, 128, 128) (1, 2, 128, 128) (1, 1, 128, 128) (2, 6, 128, 128)
        (2, 4, 24, 40) (2, 2, 24, 40) (1, 2, 24, 40) (1, 1, 24, 40) (2, 6, 24, 40))
}

fn delta_of<const KH: usize, const VH: usize, const K: usize, const V: usize, const QKV: usize, const Y: usize>(
    inputs: &Inputs<'_>,
    decode: bool,
) -> Option<Vec<Output>> {
    let (step, cpu) = (inputs.step()?, &inputs.cpu);
    let (tokens, batch) = (step.tokens(), step::batch_with_slots(step)?);
    let qkv = rows_of::<QKV>(&inputs.numbers("qkv")?[..tokens * QKV]);
    let of_heads = |name: &str| Some(rows_of::<VH>(&inputs.numbers(name)?[..tokens * VH]));
    let (a, b) = (of_heads("a")?, of_heads("b")?);
    let (decay, bias) = (decay_of::<VH>(&inputs.numbers("decay")?)?, vector_of::<VH>(&inputs.numbers("dt_bias")?)?);
    let (layout, before) = (Layout { heads: VH, rows: K, columns: V }, inputs.numbers("states")?);
    let mut state = DeltaState::<VH, K, V, QKV, KERNEL>::new(step::slots(step), 0);
    layout.put(&before, state.live().states());
    let mut y = Rows::<f32, Y>::with_capacity(tokens);
    cpu::delta_prefill::<CHUNK, KH, VH, K, V, QKV, KERNEL, Y>(cpu, &qkv, &a, &b, &decay, &bias, &mut state, &batch, &mut y);
    if decode {
        cpu::delta_decode::<KH, VH, K, V, QKV, KERNEL, Y>(cpu, &qkv, &a, &b, &decay, &bias, &mut state, &batch, &mut y);
    }
    Some(layout.outputs(step, decode, &before, state.live().states(), y.as_slice()))
}
