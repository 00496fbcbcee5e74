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

/// The complement of the error function, by its series near 0 and by its continued fraction elsewhere.
fn erfc(z: f64) -> f64 {
    if z < 0.0 {
        return 2.0 - erfc(-z);
    }
    if z < 2.0 {
        let (mut term, mut sum) = (z, z);
        for n in 1..60 {
            term *= -z * z / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return 1.0 - 2.0 / std::f64::consts::PI.sqrt() * sum;
    }
    let fraction = (1..200).rev().fold(z, |rest, n| z + 0.5 * f64::from(n) / rest);
    (-z * z).exp() / (std::f64::consts::PI.sqrt() * fraction)
}

/// The exact gelu, and the error that f32 may add.
fn exact_gelu(x: f32) -> (f64, f64) {
    let x = f64::from(x);
    let tail = 0.5 * x.abs() * erfc(x.abs() / 2f64.sqrt());
    let y = if x < 0.0 { -tail } else { x - tail };
    // The fit is within 2 u; the argument of its exponential is x^2 / 2, rounded twice, and a sum of ten terms of up to 1.5
    // each; the exponential is within 2 ulp, and six operations round once each.
    (y, (x * x + 30.0) * U * tail + 3.0 * U * y.abs() + 16.0 * f64::from(f32::MIN_POSITIVE))
}

#[test]
fn erfc_of_the_tests_is_right() {
    // Abramowitz and Stegun, tables 7.1 and 7.3.
    for (z, expected) in [(0.5, 0.479_500_122_19), (1.0, 0.157_299_207_05), (2.0, 0.004_677_734_98), (3.0, 2.209_049_7e-5)] {
        assert!((erfc(z) / expected - 1.0).abs() < 1e-8, "{z}: {}", erfc(z));
    }
}

#[test]
fn activations_in_place_match_their_formulas() {
    type Operation = fn(&crate::cpu::Cpu, &mut Rows<f32, 101>);
    type Formula = fn(f32) -> (f64, f64);
    let cases: [(&str, Operation, Formula); 4] = [
        ("silu", silu, |x| {
            let y = f64::from(x) / (1.0 + (-f64::from(x)).exp());
            (y, 7.0 * U * y.abs())
        }),
        ("gelu", gelu, exact_gelu),
        ("gelu_tanh", gelu_tanh, |x| {
            let x = f64::from(x);
            let z = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            let y = 0.5 * x * (1.0 + z.tanh());
            // As in the test of the product; and `1 + tanh` loses digits of the reference where it is small.
            (y, (10.0 * z.abs() + 11.0) * U * y.abs() + 1e-14)
        }),
        ("relu2", relu2, |x| {
            let y = f64::from(x).max(0.0).powi(2);
            (y, U * y)
        }),
    ];
    let mut random = Random::new(9);
    let x = filled::<101>(173, || 12.0 * random.unit());
    for (name, operation, formula) in cases {
        each_isa(|cpu| {
            let mut out = x.clone();
            operation(cpu, &mut out);
            within(&format!("{name} on {}", cpu.isa()), 1, out.as_slice(), x.as_slice().iter().map(|&x| formula(x)));
            // The last elements of a row take another way through the lanes than the others.
            let mut moved = filled::<101>(1, || 0.0);
            moved.row_mut(0)[..5].copy_from_slice(&x.row(3)[96..]);
            operation(cpu, &mut moved);
            assert_eq!(moved.row(0)[..5], out.row(3)[96..]);
        });
    }
}

#[test]
fn exact_gelu_mul_matches_the_formula() {
    let mut random = Random::new(10);
    let gate = filled::<100>(33, || 6.0 * random.unit());
    let up = filled::<100>(33, || random.unit());
    each_isa(|cpu| {
        let mut out = gate.clone();
        gelu_mul(cpu, &mut out, &up);
        let exact = gate.as_slice().iter().zip(up.as_slice()).map(|(&g, &u)| {
            let ((y, error), u) = (exact_gelu(g), f64::from(u));
            (y * u, error * u.abs() + U * (y * u).abs() + f64::from(f32::MIN_POSITIVE))
        });
        within(&format!("gelu_mul on {}", cpu.isa()), 1, out.as_slice(), exact);
    });
}

#[test]
fn activations_of_extremes() {
    each_isa(|cpu| {
        let values = [0.0, 1e30, -1e30, f32::INFINITY, -90.0, f32::NAN, -0.0];
        for operation in [silu, gelu, gelu_tanh, relu2] {
            let mut next = values.into_iter();
            let mut x = filled::<7>(1, || next.next().unwrap());
            operation(cpu, &mut x);
            let [zero, large, small, infinite, tiny, nan, minus_zero] = *x.row(0);
            assert_eq!([zero, small, tiny, minus_zero], [0.0; 4]);
            assert!(large >= 1e30 && infinite == f32::INFINITY && nan.is_nan());
        }
    });
}

#[test]
fn sums_of_rows() {
    let (one, two) = (filled::<3>(2, || 1.5), filled::<3>(2, || 4.0));
    let mut x = one.clone();
    add(&mut x, &two);
    assert_eq!(x.as_slice(), [5.5; 6]);
    add_scaled(&mut x, &one, -2.0);
    assert_eq!(x.as_slice(), [2.5; 6]);
}

#[test]
#[should_panic(expected = "both terms are of the same batch")]
fn sums_of_different_batches() {
    add(&mut filled::<3>(2, || 0.0), &filled::<3>(1, || 0.0));
}

#[test]
fn a_gate_weighs_its_row() {
    let mut random = Random::new(11);
    let gate = filled::<1>(5, || 8.0 * random.unit());
    let x = filled::<19>(5, || random.unit());
    let before = filled::<19>(5, || random.unit());
    let mut out = before.clone();
    sigmoid_gate_add(&mut out, &gate, &x);
    let exact = (0..5 * 19).map(|i| {
        let weight = 1.0 / (1.0 + (-f64::from(gate.as_slice()[i / 19])).exp());
        let product = weight * f64::from(x.as_slice()[i]);
        let sum = f64::from(before.as_slice()[i]) + product;
        // The sigmoid is within 7 u, as silu is; a product and a sum round once each.
        (sum, 8.0 * U * product.abs() + U * sum.abs())
    });
    within("sigmoid_gate_add", 1, out.as_slice(), exact);
}

#[test]
fn soft_cap_matches_the_formula() {
    let mut random = Random::new(12);
    for cap in [30.0f32, 50.0, 1.0] {
        for size in [300.0, 8.0, 0.01] {
            let x = filled::<101>(9, || size * random.unit());
            let mut out = x.clone();
            soft_cap(&mut out, cap);
            let exact = x.as_slice().iter().map(|&x| {
                let z = f64::from(x) / f64::from(cap);
                let y = f64::from(cap) * z.tanh();
                // Near 0 a series that is cut at 2e-8 (a third of u) and rounds some ten times. Elsewhere the exponential, of an
                // argument that rounds three times, is within 4 u + 6 |z| u of its value; it is subtracted from 1 and added to it.
                let (e, near) = ((-2.0 * z.abs()).exp(), z.abs() < 0.251);
                let far = f64::from(cap) * U * (2.0 * e * (4.0 + 6.0 * z.abs()) + 3.0);
                (y, if near { far.min(16.0 * U * y.abs()).max(8.0 * U * y.abs()) } else { far } + 4.0 * U * y.abs())
            });
            within(&format!("soft_cap {cap} of {size}"), 1, out.as_slice(), exact);
        }
    }
    let mut values = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0].into_iter();
    let mut x = filled::<4>(1, || values.next().unwrap());
    soft_cap(&mut x, 30.0);
    assert_eq!((x.row(0)[..2].to_vec(), x.row(0)[3]), (vec![30.0, -30.0], 0.0));
    assert!(x.row(0)[2].is_nan());
}
