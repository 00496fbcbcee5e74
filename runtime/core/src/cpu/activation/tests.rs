//! Elementwise operations against formulas in f64.

use super::*;
use crate::batch::{BatchLimits, PageId, WantLogits};
use crate::linear::RowOrder;
use crate::testing::{Random, U, each_isa, within};
use tenon_formats::StorageFormat;

fn filled<const D: usize>(rows: usize, mut value: impl FnMut() -> f32) -> Rows<f32, D> {
    let mut x = Rows::with_capacity(rows);
    x.set_rows(rows);
    x.as_mut_slice().fill_with(&mut value);
    x
}

#[test]
fn silu_mul_matches_the_formula() {
    let mut random = Random::new(7);
    let gate = filled::<100>(401, || 20.0 * random.unit());
    let up = filled::<100>(401, || random.unit());
    each_isa(|cpu| {
        let mut out = gate.clone();
        silu_mul(cpu, &mut out, &up);
        let exact = gate.as_slice().iter().zip(up.as_slice()).map(|(&g, &u)| {
            let y = f64::from(g) / (1.0 + (-f64::from(g)).exp()) * f64::from(u);
            // exp within 2 ulp (4 u), and four operations that round once each.
            (y, 8.0 * U * y.abs())
        });
        within(&format!("silu_mul on {}", cpu.isa()), 1, out.as_slice(), exact);
        let mut one = filled::<100>(1, || 0.0);
        let mut one_up = one.clone();
        one.row_mut(0).copy_from_slice(gate.row(400));
        one_up.row_mut(0).copy_from_slice(up.row(400));
        silu_mul(cpu, &mut one, &one_up);
        assert_eq!(one.row(0), out.row(400));
    });
}

#[test]
fn gelu_mul_matches_the_formula() {
    let mut random = Random::new(8);
    let gate = filled::<100>(401, || 6.0 * random.unit());
    let up = filled::<100>(401, || random.unit());
    each_isa(|cpu| {
        let mut out = gate.clone();
        gelu_tanh_mul(cpu, &mut out, &up);
        let exact = gate.as_slice().iter().zip(up.as_slice()).map(|(&g, &u)| {
            let g = f64::from(g);
            let z = (2.0 / std::f64::consts::PI).sqrt() * (g + 0.044715 * g * g * g);
            let y = 0.5 * g * (1.0 + z.tanh()) * f64::from(u);
            // The argument 2 z of the exponential is rounded five times, which moves the exponential by 5 u |2 z|; then
            // exp within 2 ulp, and five operations that round once each.
            (y, (10.0 * z.abs() + 12.0) * U * y.abs() + f64::from(f32::MIN_POSITIVE))
        });
        within(&format!("gelu_tanh_mul on {}", cpu.isa()), 1, out.as_slice(), exact);
    });
}

#[test]
fn rows_are_scaled() {
    let mut x = filled::<3>(2, || 2.0);
    scale(&mut x, 1.5);
    assert_eq!(x.as_slice(), [3.0; 6]);
}

#[test]
fn silu_of_extremes() {
    each_isa(|cpu| {
        let mut values = [0.0, 1e30, -1e30, f32::INFINITY, -90.0, f32::NAN, -0.0].into_iter();
        let mut gate = filled::<7>(1, || values.next().unwrap());
        let ones = filled::<7>(1, || 1.0);
        silu_mul(cpu, &mut gate, &ones);
        let [zero, large, small, infinite, tiny, nan, minus_zero] = *gate.row(0);
        assert_eq!([zero, large, small, infinite, tiny, minus_zero], [0.0, 1e30, 0.0, f32::INFINITY, 0.0, 0.0]);
        assert!(nan.is_nan());
    });
}

#[test]
fn bias_is_added_to_each_row() {
    let stored: Vec<u8> = [1.0f32, 2.0, 3.0].iter().flat_map(|b| b.to_le_bytes()).collect();
    let bias = Bias::<3>::decode(StorageFormat::F32, &stored, RowOrder::Stored).unwrap();
    let mut x = filled::<3>(2, || 10.0);
    add_bias(&mut x, &bias);
    assert_eq!(x.as_slice(), [11.0, 12.0, 13.0, 11.0, 12.0, 13.0]);
}

#[test]
fn logit_rows_are_gathered_in_order() {
    let mut batch = Batch::new(BatchLimits {
        vocab_size: 1,
        max_positions: 16,
        page_size: 16,
        pages: 2,
        state_slots: 0,
        max_tokens: 8,
        max_logit_rows: 8,
    });
    batch.push(&[0; 3], 0, &[PageId(0)], None, WantLogits::Last).unwrap();
    batch.push(&[0; 2], 0, &[PageId(1)], None, WantLogits::All).unwrap();
    let mut next = 0.0;
    let x = filled::<1>(5, || {
        next += 1.0;
        next
    });
    let mut out = Rows::with_capacity(8);
    gather_logit_rows(&x, &batch, &mut out);
    assert_eq!(out.as_slice(), [3.0, 4.0, 5.0]);
}
