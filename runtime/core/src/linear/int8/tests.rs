//! Rows of int8 against the values that they stand for, and products with them against exact ones.

use tenon_formats::StorageFormat;

use super::*;
use crate::cpu::Isa;
use crate::linear::packed::Packed;
use crate::linear::tests::{ROWS, each_matrix, packed};
use crate::linear::{Linear, RowOrder};
use crate::rows::Rows;
use crate::testing::{Random, U, each_isa, product_bound, within};

/// Whether quants of the format are multiplied as integers.
fn has_integer_products(format: StorageFormat) -> bool {
    use StorageFormat::{Bf16, F16, F32, Fp8E4m3, Mxfp4, Nvfp4};
    !matches!(format, F32 | F16 | Bf16 | Fp8E4m3 | Nvfp4 | Mxfp4)
}

fn quantised(cpu: &Cpu, x: &[f32], width: usize) -> Vec<Int8Block> {
    let mut blocks = vec![Int8Block::ZERO; x.len() / width * width.div_ceil(BLOCK)];
    rows::quantise_rows(cpu, x, width, &mut blocks);
    blocks
}

/// The values that row `r` of `rows` stands for.
fn values(blocks: &[Int8Block], r: usize, rows: usize, width: usize) -> Vec<f32> {
    let mut values = vec![f32::NAN; width];
    for (b, values) in values.chunks_mut(BLOCK).enumerate() {
        blocks[b * rows + r].decode(values);
    }
    values
}

#[test]
fn an_element_is_off_by_half_a_scale_at_most() {
    let mut random = Random::new(3);
    for (rows, width) in [(1, 32), (3, 33), (7, 576), (50, 1000), (2, 5)] {
        // Blocks of all sizes, from 2^-60 on, which a row of one scale would round to zeros.
        let x: Vec<f32> = (0..rows * width).map(|i| random.unit() * (2.0f32).powi((i / 32) as i32 % 100 - 60)).collect();
        let mut first: Option<Vec<Int8Block>> = None;
        each_isa(|cpu| {
            let blocks = quantised(cpu, &x, width);
            for r in 0..rows {
                let (exact, values) = (&x[r * width..][..width], values(&blocks, r, rows, width));
                for (k, (x, value)) in exact.iter().zip(&values).enumerate() {
                    let scale = f64::from(blocks[k / BLOCK * rows + r].scale);
                    // The inverse of a scale, the scale and the product are each rounded once, at magnitudes up to 127 scales.
                    let bound = scale * (0.5 + 127.0 * 4.0 * U);
                    let error = (f64::from(*x) - f64::from(*value)).abs();
                    assert!(error <= bound, "{}: {x} became {value}, a scale is {scale}", cpu.isa());
                }
                let largest = |b: usize| exact.iter().skip(b * BLOCK).take(BLOCK).fold(0.0f32, |m, x| m.max(x.abs()));
                for b in 0..width.div_ceil(BLOCK) {
                    assert_eq!(blocks[b * rows + r].scale, largest(b) / 127.0);
                }
            }
        });
        // Every instruction set rounds alike.
        for isa in Isa::available() {
            let blocks = quantised(&Cpu::new(3, isa).unwrap(), &x, width);
            let same = first.get_or_insert_with(|| blocks.clone());
            assert_eq!(*same, blocks, "{isa}");
        }
    }
}

#[test]
fn zeros_stay_and_what_is_no_number_is_none_in_every_product() {
    each_isa(|cpu| {
        let mut x = vec![0.0; 64];
        assert!(quantised(cpu, &x, 64).iter().all(|block| *block == Int8Block::ZERO));
        x[3] = 1e-38;
        assert!(quantised(cpu, &x, 64).iter().all(|block| *block == Int8Block::ZERO));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            x[40] = bad;
            let blocks = quantised(cpu, &x, 64);
            assert!(blocks[0] == Int8Block::ZERO && blocks[1].scale.is_nan(), "{bad}");
            let weight = Linear::<8, 64>::pack(cpu, StorageFormat::Q8_0, &[0; 8 * 68], RowOrder::Stored).unwrap();
            let (mut rows, mut quants, mut out) = (Rows::with_capacity(1), Int8Rows::with_capacity(1), Rows::with_capacity(1));
            rows.set_rows(1);
            rows.as_mut_slice().copy_from_slice(&x);
            quants.quantise(cpu, &rows);
            weight.forward_int8(cpu, &quants, &mut out);
            assert!(out.as_slice().iter().all(|y: &f32| y.is_nan()), "{bad}");
        }
    });
}

#[test]
fn products_with_the_values_are_within_the_bound_of_their_class() {
    each_matrix(|format, outputs, inputs, matrix, random| {
        for rows in ROWS {
            let x = random.units(rows * inputs);
            let before = random.units(rows * outputs);
            each_isa(|cpu| {
                let what = format!("{format} [{outputs}, {inputs}] x {rows} rows of int8 on {}", cpu.isa());
                let blocks = quantised(cpu, &x, inputs);
                let values: Vec<f32> = (0..rows).flat_map(|r| values(&blocks, r, rows, inputs)).collect();
                // A group's sum of quants is exact; what it adds is rounded 3 times, and the minimum of a weight counts beside its quant.
                let depth = match (has_integer_products(format), format) {
                    (false, _) => inputs,
                    (true, StorageFormat::Q6K) => 3 * inputs / 16,
                    (true, _) => 3 * inputs / 32,
                };
                let exact = (0..rows * outputs).map(|i| {
                    let (r, o) = (i / outputs, i % outputs);
                    let products = (0..inputs).map(|k| {
                        let (w, x) = (f64::from(matrix.weights[o * inputs + k]), f64::from(values[r * inputs + k]));
                        (w * x, (w.abs() + 2.0 * matrix.largest_minimum) * x.abs())
                    });
                    let (sum, magnitude) = products.fold((0.0, 0.0), |(s, m), (p, q)| (s + p, m + q));
                    (sum, product_bound(depth, magnitude))
                });
                let weight = packed(cpu, format, outputs, inputs, matrix);
                let mut out = vec![f32::NAN; rows * outputs];
                weight.multiply_int8(cpu, outputs, inputs, &blocks, rows, &mut out, Then::Store);
                within(&what, depth, &out, exact);
                let mut added = before.clone();
                weight.multiply_int8(cpu, outputs, inputs, &blocks, rows, &mut added, Then::Add);
                let sums: Vec<f32> = before.iter().zip(&out).map(|(b, o)| b + o).collect();
                assert_eq!(added, sums, "{what}: the product is added once, when it is complete");
            });
        }
    });
}

#[test]
fn a_row_has_the_same_bits_in_any_company_and_quants_on_every_instruction_set() {
    each_matrix(|format, outputs, inputs, matrix, random| {
        let x = random.units(100 * inputs);
        let mut of_other_isa: Option<Vec<f32>> = None;
        for isa in Isa::available() {
            let one = Cpu::new(1, isa).unwrap();
            let weight = packed(&one, format, outputs, inputs, matrix);
            let times = |cpu: &Cpu, rows: usize, x: &[f32]| {
                let mut out = vec![f32::NAN; rows * outputs];
                weight.multiply_int8(cpu, outputs, inputs, &quantised(cpu, x, inputs), rows, &mut out, Then::Store);
                out
            };
            let alone: Vec<f32> = x.chunks(inputs).flat_map(|x| times(&one, 1, x)).collect();
            if has_integer_products(format) {
                let other = of_other_isa.get_or_insert_with(|| alone.clone());
                assert_eq!(*other, alone, "{format} [{outputs}, {inputs}] on {isa} and another");
            }
            for threads in 1..=3 {
                let cpu = Cpu::new(threads, isa).unwrap();
                for rows in ROWS {
                    let out = times(&cpu, rows, &x[..rows * inputs]);
                    assert_eq!(
                        out,
                        alone[..rows * outputs],
                        "{format} [{outputs}, {inputs}], {rows} rows, {threads} threads, {isa}"
                    );
                }
            }
        }
    });
}

/// A prompt's rows are taken in bands that stay in the cache, of at most 240.
#[test]
fn rows_of_a_second_band_read_their_own_blocks() {
    const ROWS: usize = 260;
    each_matrix(|format, outputs, inputs, matrix, random| {
        if !has_integer_products(format) {
            return;
        }
        let x = random.units(ROWS * inputs);
        for isa in Isa::available() {
            let cpu = Cpu::new(1, isa).unwrap();
            let weight = packed(&cpu, format, outputs, inputs, matrix);
            let times = |rows: usize, x: &[f32]| {
                let mut out = vec![f32::NAN; rows * outputs];
                weight.multiply_int8(&cpu, outputs, inputs, &quantised(&cpu, x, inputs), rows, &mut out, Then::Store);
                out
            };
            let together = times(ROWS, &x);
            for row in 236..ROWS {
                let alone = times(1, &x[row * inputs..][..inputs]);
                assert_eq!(together[row * outputs..][..outputs], alone, "{format} [{outputs}, {inputs}], row {row}, {isa}");
            }
        }
    });
}

#[test]
fn the_largest_quants_do_not_overflow() {
    // Quants of the largest magnitude that their bits have, and activations of the largest of either sign: sums of pairs are as large as they can
    // be.
    let formats = StorageFormat::ALL.into_iter().filter(|format| has_integer_products(*format));
    for (format, bits) in formats.flat_map(|format| [0xff, 0x7f, 0x80].map(|bits| (format, bits))) {
        let inputs = 256;
        let mut bytes = vec![bits; format.row_bytes(inputs).unwrap() * 8];
        for block in bytes.chunks_mut(format.block_bytes()) {
            for &at in format.scales() {
                block[at..at + 2].copy_from_slice(&half::f16::from_f32(0.5).to_le_bytes());
            }
        }
        let mut weights = vec![f32::NAN; 8 * inputs];
        crate::linear::decode_row(format, &bytes, &mut weights);
        for sign in [1.0, -1.0] {
            let exact: f64 = weights[..inputs].iter().map(|w| f64::from(127.0 * sign * w)).sum();
            // A minimum is at most 63 x 0.5.
            let magnitude: f64 = weights[..inputs].iter().map(|w| 127.0 * (f64::from(w.abs()) + 63.0)).sum();
            each_isa(|cpu| {
                let weight = Packed::new(cpu, format, &bytes, RowOrder::Stored, 8, inputs).unwrap();
                for rows in [1, 5] {
                    let blocks = quantised(cpu, &vec![127.0 * sign; rows * inputs], inputs);
                    let mut out = vec![f32::NAN; rows * 8];
                    weight.multiply_int8(cpu, 8, inputs, &blocks, rows, &mut out, Then::Store);
                    for y in out {
                        let what = format!("{format}, bits {bits:#x}, {rows} rows, {}", cpu.isa());
                        assert!((f64::from(y) - exact).abs() <= 1e-6 * magnitude, "{what}: {y}, exactly {exact}");
                    }
                }
            });
        }
    }
}

#[test]
#[should_panic(expected = "2 rows have no room")]
fn rows_without_room_are_a_bug() {
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let mut x = Rows::<f32, 40>::with_capacity(2);
    x.set_rows(2);
    Int8Rows::with_capacity(1).quantise(&cpu, &x);
}
