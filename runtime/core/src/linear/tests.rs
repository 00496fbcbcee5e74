//! Products against an exact reference, and the promise that a row's bits depend on that row alone.

use half::{bf16, f16};
use tenon_formats::StorageFormat;

use super::product::Then;
use super::*;
use crate::cpu::Isa;
use crate::testing::{Random, each_isa, product_bound, within};

/// A random matrix: as a checkpoint stores it, and each weight.
pub(super) struct Stored {
    pub(super) bytes: Vec<u8>,
    pub(super) weights: Vec<f32>,
    /// The largest magnitude of what the format adds to or subtracts from products of quants.
    pub(super) largest_minimum: f64,
}

/// Weights are those of the scalar decoder, which the tests of `decode` compare with another implementation.
fn stored(random: &mut Random, format: StorageFormat, outputs: usize, inputs: usize) -> Stored {
    let mut bytes = Vec::new();
    for _ in 0..outputs * inputs / format.block_len() {
        match format {
            StorageFormat::F32 => bytes.extend(random.unit().to_le_bytes()),
            StorageFormat::F16 => bytes.extend(f16::from_f32(random.unit()).to_le_bytes()),
            StorageFormat::Bf16 => bytes.extend(bf16::from_f32(random.unit()).to_le_bytes()),
            StorageFormat::Fp8E4m3 => bytes.push(no_nan(random)),
            StorageFormat::Nvfp4 => {
                bytes.push(no_nan(random));
                bytes.extend((0..8).map(|_| random.bits() as u8));
            }
            StorageFormat::Mxfp4 => {
                bytes.push(110 + random.below(20) as u8);
                bytes.extend((0..16).map(|_| random.bits() as u8));
            }
            quantised => {
                // Any quant and any scale of a group is legal, and all of them should be seen.
                let start = bytes.len();
                bytes.extend((0..quantised.block_bytes()).map(|_| random.bits() as u8));
                for at in quantised.scales() {
                    let scale = f16::from_f32(0.1 * random.unit());
                    bytes[start + at..][..2].copy_from_slice(&scale.to_le_bytes());
                }
            }
        }
    }
    let mut weights = vec![f32::NAN; outputs * inputs];
    decode::decode_row(format, &bytes, &mut weights);
    // Scales are at most 0.1, and those of groups at most 63 times as much; a minimum is what the quant 0 stands for.
    let largest_minimum = match format {
        StorageFormat::Q4_1 | StorageFormat::Q5_1 => 0.1,
        StorageFormat::Q4K | StorageFormat::Q5K => 6.3,
        _ => 0.0,
    };
    Stored { bytes, weights, largest_minimum }
}

/// Any byte of E4M3 that is a number.
fn no_nan(random: &mut Random) -> u8 {
    match random.bits() as u8 {
        nan if nan & 0x7f == 0x7f => 0,
        byte => byte,
    }
}

pub(super) const ROWS: [usize; 8] = [1, 2, 3, 4, 5, 17, 64, 100];
const SHAPES: [(usize, usize); 7] = [(1, 32), (8, 64), (13, 96), (24, 288), (20, 1536), (100, 576), (70, 32)];
const WITHOUT_BLOCKS: [(usize, usize); 3] = [(11, 1), (9, 33), (40, 301)];
const OF_256: [(usize, usize); 5] = [(1, 256), (13, 768), (24, 256), (20, 1536), (70, 512)];

/// Every format with shapes that it can have.
pub(super) fn each_matrix(mut test: impl FnMut(StorageFormat, usize, usize, &Stored, &mut Random)) {
    for format in StorageFormat::ALL {
        let shapes = match format.block_len() {
            1 => [&SHAPES[..], &WITHOUT_BLOCKS].concat(),
            16 => [&SHAPES[..], &[(11, 16), (9, 48), (40, 304)]].concat(),
            32 => SHAPES.to_vec(),
            _ => OF_256.to_vec(),
        };
        for (outputs, inputs) in shapes {
            let mut random = Random::new((outputs * 10_000 + inputs) as u64);
            let matrix = stored(&mut random, format, outputs, inputs);
            test(format, outputs, inputs, &matrix, &mut random);
        }
    }
}

pub(super) fn packed(cpu: &Cpu, format: StorageFormat, outputs: usize, inputs: usize, matrix: &Stored) -> Packed {
    Packed::new(cpu, format, &matrix.bytes, RowOrder::Stored, outputs, inputs).unwrap()
}

#[test]
fn products_are_within_the_bound_of_their_class() {
    each_matrix(|format, outputs, inputs, matrix, random| {
        for rows in ROWS {
            let x = random.units(rows * inputs);
            let before = random.units(rows * outputs);
            let exact = |r: usize, o: usize| {
                let products = (0..inputs).map(|k| f64::from(matrix.weights[o * inputs + k]) * f64::from(x[r * inputs + k]));
                products.fold((0.0, 0.0), |(sum, magnitude), p| (sum + p, magnitude + p.abs()))
            };
            let exact: Vec<(f64, f64)> = (0..rows * outputs).map(|i| exact(i / outputs, i % outputs)).collect();
            each_isa(|cpu| {
                let what = format!("{format} [{outputs}, {inputs}] x {rows} rows on {}", cpu.isa());
                let weight = packed(cpu, format, outputs, inputs, matrix);
                let mut out = vec![f32::NAN; rows * outputs];
                weight.multiply(cpu, outputs, inputs, 4, &x, &mut out, Then::Store);
                within(&what, inputs, &out, exact.iter().map(|&(sum, m)| (sum, product_bound(inputs, m))));
                let mut added = before.clone();
                weight.multiply(cpu, outputs, inputs, 4, &x, &mut added, Then::Add);
                let sums: Vec<f32> = before.iter().zip(&out).map(|(b, o)| b + o).collect();
                assert_eq!(added, sums, "{what}: the product is added once, when it is complete");
            });
        }
    });
}

#[test]
fn a_row_has_the_same_bits_in_any_company() {
    each_matrix(|format, outputs, inputs, matrix, random| {
        let x = random.units(100 * inputs);
        for isa in Isa::available() {
            let one = Cpu::new(1, isa).unwrap();
            let weight = packed(&one, format, outputs, inputs, matrix);
            let mut alone = vec![f32::NAN; 100 * outputs];
            for (x, out) in x.chunks(inputs).zip(alone.chunks_mut(outputs)) {
                weight.multiply(&one, outputs, inputs, 4, x, out, Then::Store);
            }
            for threads in 1..=3 {
                let cpu = Cpu::new(threads, isa).unwrap();
                for rows in ROWS {
                    for tile in 1..=gemm::MAX_TILE {
                        let mut out = vec![f32::NAN; rows * outputs];
                        weight.multiply(&cpu, outputs, inputs, tile, &x[..rows * inputs], &mut out, Then::Store);
                        assert_eq!(
                            out,
                            alone[..rows * outputs],
                            "{format} [{outputs}, {inputs}], {rows} rows, {threads} threads, tile {tile}, {isa}"
                        );
                    }
                }
            }
        }
    });
}

#[test]
fn dequantised_weights_are_those_of_the_format_on_every_path() {
    // A one-hot input reads a column of the matrix, exactly: in registers, through a panel, and by the scalar decoder.
    for format in StorageFormat::ALL {
        let (outputs, inputs) = (13, 320usize.next_multiple_of(format.block_len()));
        let matrix = stored(&mut Random::new(5), format, outputs, inputs);
        each_isa(|cpu| {
            let weight = packed(cpu, format, outputs, inputs, &matrix);
            for rows in [1, inputs] {
                for first in (0..inputs).step_by(rows) {
                    let mut x = vec![0.0; rows * inputs];
                    (0..rows).for_each(|r| x[r * inputs + first + r] = 1.0);
                    let mut out = vec![f32::NAN; rows * outputs];
                    weight.multiply(cpu, outputs, inputs, 6, &x, &mut out, Then::Store);
                    for (i, &y) in out.iter().enumerate() {
                        let (k, o) = (first + i / outputs, i % outputs);
                        assert_eq!(y, matrix.weights[o * inputs + k], "{format} {}, input {k}, output {o}", cpu.isa());
                    }
                }
            }
        });
    }
}

#[test]
fn typed_products_set_the_rows_and_put_heads_in_order() {
    let cpu = Cpu::new(2, Isa::detect()).unwrap();
    // Two heads of 8, of which 6 rows rotate. The weight of stored row r is r.
    let bytes: Vec<u8> = (0..16).flat_map(|r| (r as f32).to_le_bytes()).collect();
    let order = RowOrder::RopePairs { heads: 2, rotary_dim: 6 };
    let linear = Linear::<16, 1>::pack(&cpu, StorageFormat::F32, &bytes, order).unwrap();
    let mut x = Rows::<f32, 1>::with_capacity(2);
    x.set_rows(2);
    x.as_mut_slice().copy_from_slice(&[1.0, -1.0]);
    let mut out = Rows::with_capacity(2);
    linear.forward::<6>(&cpu, &x, &mut out);
    let expected = [0., 2., 4., 1., 3., 5., 6., 7., 8., 10., 12., 9., 11., 13., 14., 15.];
    assert_eq!(out.row(0), &expected);
    assert_eq!(out.row(1), &expected.map(|w| -w));
    linear.forward_add::<1>(&cpu, &x, &mut out);
    assert_eq!(out.row(0), &expected.map(|w| 2.0 * w));
    let bias = Bias::<16>::decode(StorageFormat::F32, &bytes, order).unwrap();
    assert_eq!(bias.values(), &expected);
    assert_eq!((linear.bytes(), linear.format(), bias.bytes()), (64, StorageFormat::F32, 64));
}

#[test]
fn quantised_weights_keep_their_size() {
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    for format in StorageFormat::ALL {
        let matrix = stored(&mut Random::new(1), format, 24, 512);
        let weight = Linear::<24, 512>::pack(&cpu, format, &matrix.bytes, RowOrder::Stored).unwrap();
        assert_eq!(weight.bytes(), matrix.bytes.len(), "{format}");
    }
}

#[test]
fn refuses_what_does_not_fit_with_both_values() {
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let pack = |format, bytes, order| Linear::<8, 40>::pack(&cpu, format, &vec![0; bytes], order).unwrap_err().to_string();
    let errors = [
        pack(StorageFormat::Q4_1, 200, RowOrder::Stored),
        pack(StorageFormat::Q6K, 210, RowOrder::Stored),
        pack(StorageFormat::F16, 639, RowOrder::Stored),
        pack(StorageFormat::F16, 640, RowOrder::RopePairs { heads: 3, rotary_dim: 2 }),
        Norm::<64>::decode(StorageFormat::Q8_0, &[0; 68]).unwrap_err().to_string(),
        Norm::<64>::decode(StorageFormat::F32, &[0; 128]).unwrap_err().to_string(),
        Bias::<8>::decode(StorageFormat::F32, &[0; 32], RowOrder::RopePairs { heads: 2, rotary_dim: 8 }).unwrap_err().to_string(),
    ];
    assert_eq!(
        errors,
        [
            "q4_1 stores blocks of 32, and rows of 40 are not a whole number of them",
            "q6_k stores blocks of 256, and rows of 40 are not a whole number of them",
            "8 rows of 40 in f16 are 640 bytes, and there are 639",
            "the row order does not fit: 8 rows are not 3 heads",
            "a vector is stored as f32, f16 or bf16, and this one is q8_0",
            "1 rows of 64 in f32 are 256 bytes, and there are 128",
            "the row order does not fit: the first 8 rows of a head of 4 are not pairs",
        ]
    );
}
