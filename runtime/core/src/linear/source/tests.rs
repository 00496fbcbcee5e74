//! Matrices whose scales stand apart, against what another implementation decodes them to; and their products.

use super::*;
use crate::cpu::{Cpu, Isa};
use crate::linear::packed::Packed;
use crate::linear::product::Then;
use crate::linear::{RowOrder, Segment};
use crate::testing::{Random, each_isa, product_bound, within};

/// Cuts bytes into tensors of these lengths, and the f32 of the rest.
fn fixture<const N: usize>(bytes: &'static [u8], lengths: [usize; N]) -> ([&'static [u8]; N], Vec<f32>) {
    let mut rest = bytes;
    let parts = lengths.map(|length| {
        let (part, after) = rest.split_at(length);
        rest = after;
        part
    });
    (parts, floats(rest))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

/// The rows of a matrix are these bits, by the scalar decoder and on every path of the kernels.
fn assert_rows(what: &str, source: &Source<'_>, rows: &[usize], expected: &[f32]) {
    let inputs = source.inputs;
    assert_eq!(expected.len(), rows.len() * inputs, "{what}");
    let mut decoded = vec![f32::NAN; inputs];
    for (&row, expected) in rows.iter().zip(expected.chunks(inputs)) {
        source.decode(row, &mut decoded);
        assert_eq!(decoded, expected, "{what}, row {row}");
    }
    assert_products_are_weights(what, source);
}

/// A one-hot input reads a column of the matrix, exactly: in registers, and through a panel.
fn assert_products_are_weights(what: &str, source: &Source<'_>) {
    let (outputs, inputs) = (source.rows, source.inputs);
    let mut weights = vec![f32::NAN; outputs * inputs];
    weights.chunks_mut(inputs).enumerate().for_each(|(row, weights)| source.decode(row, weights));
    each_isa(|cpu| {
        let packed = Packed::rows(cpu, source, outputs, |row| row);
        for rows in [1, 7] {
            for first in (0..inputs).step_by(rows) {
                let rows = rows.min(inputs - first);
                let mut x = vec![0.0; rows * inputs];
                (0..rows).for_each(|r| x[r * inputs + first + r] = 1.0);
                let mut out = vec![f32::NAN; rows * outputs];
                packed.multiply(cpu, outputs, inputs, 6, &x, &mut out, Then::Store);
                for (i, &y) in out.iter().enumerate() {
                    let (k, o) = (first + i / outputs, i % outputs);
                    assert_eq!(y, weights[o * inputs + k], "{what} on {}, input {k}, output {o}", cpu.isa());
                }
            }
        }
    });
}

#[test]
fn every_byte_of_fp8_with_one_scale() {
    let ([data, scale], expected) = fixture(include_bytes!("../fixtures/fp8_tensor.bin"), [254, 4]);
    for (rows, inputs) in [(2, 127), (127, 2), (1, 254)] {
        let source = Source::fp8(data, floats(scale)[0], rows, inputs).unwrap();
        assert_rows("fp8", &source, &(0..rows).collect::<Vec<_>>(), &expected);
    }
}

#[test]
fn fp8_in_blocks() {
    let ([data, scales], expected) = fixture(include_bytes!("../fixtures/fp8_blocks.bin"), [129 * 144, 16]);
    let source = Source::fp8_blocks(data, floats(scales), 129, 144).unwrap();
    assert_rows("fp8 in blocks", &source, &[0, 127, 128], &expected);
}

#[test]
fn fp8_in_blocks_of_every_length() {
    let mut random = Random::new(3);
    for (rows, inputs) in [(130usize, 256usize), (3, 400), (5, 131)] {
        let data: Vec<u8> = (0..rows * inputs).map(|_| random.bits() as u8 & 0xf7).collect();
        let scales = random.units(rows.div_ceil(128) * inputs.div_ceil(128));
        let source = Source::fp8_blocks(&data, scales.clone(), rows, inputs).unwrap();
        let plain = Source::fp8(&data, 1.0, rows, inputs).unwrap();
        let (mut scaled, mut unscaled) = (vec![0.0; inputs], vec![0.0; inputs]);
        for row in 0..rows {
            source.decode(row, &mut scaled);
            plain.decode(row, &mut unscaled);
            for k in 0..inputs {
                let scale = scales[row / 128 * inputs.div_ceil(128) + k / 128];
                assert_eq!(scaled[k], scale * unscaled[k], "row {row}, input {k}");
            }
        }
        assert_products_are_weights(&format!("fp8 [{rows}, {inputs}]"), &source);
        let packed = Packed::rows(&Cpu::new(1, Isa::Portable).unwrap(), &source, rows, |row| row);
        let stored = data.len() * rows.next_multiple_of(8) / rows;
        if inputs.is_multiple_of(128) {
            assert_eq!(packed.bytes(), stored + stored / 32, "a scale for each row of a block");
        }
    }
}

#[test]
fn nvfp4_has_two_scales() {
    let ([data, scales, factor], expected) = fixture(include_bytes!("../fixtures/nvfp4.bin"), [5 * 24, 5 * 3, 4]);
    let source = Source::nvfp4(data, scales, floats(factor)[0], 5, 48).unwrap();
    assert_rows("nvfp4", &source, &[0, 1, 2, 3, 4], &expected);
}

#[test]
fn mxfp4_with_neighbours_in_a_byte() {
    let ([data, scales], expected) = fixture(include_bytes!("../fixtures/mxfp4_apart.bin"), [5 * 48, 5 * 3]);
    let source = Source::mxfp4(data, scales, 5, 96).unwrap();
    assert_rows("mxfp4", &source, &[0, 1, 2, 3, 4], &expected);
}

#[test]
fn columns_are_rows_of_the_transposed() {
    // [3 inputs, 2 columns]
    let data: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let source = Source::of_columns(StorageFormat::F32, &data, 2, 3).unwrap();
    assert_rows("columns", &source, &[0, 1], &[1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    let halves: Vec<u8> = data.chunks(4).flat_map(|x| x[2..].to_vec()).collect();
    let source = Source::of_columns(StorageFormat::Bf16, &halves, 2, 3).unwrap();
    assert_rows("columns", &source, &[1, 0], &[2.0, 4.0, 6.0, 1.0, 3.0, 5.0]);
}

#[test]
fn products_with_a_factor_are_within_their_bound_and_alike_in_any_company() {
    let (outputs, inputs, rows) = (21, 160, 9);
    let mut random = Random::new(12);
    let data: Vec<u8> = (0..outputs * inputs / 2).map(|_| random.bits() as u8).collect();
    let scales: Vec<u8> = (0..outputs * inputs / 16).map(|_| 0x20 + random.below(0x20) as u8).collect();
    let source = Source::nvfp4(&data, &scales, 0.37, outputs, inputs).unwrap();
    let mut weights = vec![0.0; outputs * inputs];
    weights.chunks_mut(inputs).enumerate().for_each(|(row, weights)| source.decode(row, weights));
    let x = random.units(rows * inputs);
    each_isa(|cpu| {
        let packed = Packed::rows(cpu, &source, outputs, |row| row);
        let mut out = vec![f32::NAN; rows * outputs];
        packed.multiply(cpu, outputs, inputs, 4, &x, &mut out, Then::Store);
        let exact = (0..rows * outputs).map(|i| {
            let (x, w) = (&x[i / outputs * inputs..][..inputs], &weights[i % outputs * inputs..][..inputs]);
            let products = x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w));
            let (sum, magnitude) = products.fold((0.0, 0.0), |(sum, magnitude), p| (sum + p, magnitude + p.abs()));
            (sum, product_bound(inputs, magnitude))
        });
        within(&format!("nvfp4 products on {}", cpu.isa()), inputs, &out, exact);
        for (x, out) in x.chunks(inputs).zip(out.chunks(outputs)) {
            let mut alone = vec![f32::NAN; outputs];
            packed.multiply(cpu, outputs, inputs, 4, x, &mut alone, Then::Store);
            assert_eq!(alone, out);
        }
    });
}

#[test]
fn parts_of_a_stored_matrix() {
    // Rows 0..12 of one input; two groups of 6, of each the rows 4 and 5, then the row 0.
    const PARTS: RowOrder = RowOrder::Parts(&[
        Segment { groups: 2, group_rows: 6, first: 4, rows: 2 },
        Segment { groups: 2, group_rows: 6, first: 0, rows: 1 },
    ]);
    let data: Vec<u8> = (0..12).flat_map(|x| (x as f32).to_le_bytes()).collect();
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let packed = Packed::new(&cpu, StorageFormat::F32, &data, PARTS, 6, 1).unwrap();
    let mut out = vec![f32::NAN; 6];
    packed.multiply(&cpu, 6, 1, 1, &[1.0], &mut out, Then::Store);
    assert_eq!(out, [4.0, 5.0, 10.0, 11.0, 0.0, 6.0]);
    let error = Packed::new(&cpu, StorageFormat::F32, &data[4..], PARTS, 6, 1).err().unwrap().to_string();
    assert_eq!(error, "12 rows of 1 in f32 are 48 bytes, and there are 44");
    let source = Source::of_rows(StorageFormat::F32, &data, 3, 4).unwrap();
    let error = Packed::ordered(&cpu, &source, PARTS, 6).err().unwrap().to_string();
    assert_eq!(error, "the row order does not fit: it is for 12 stored rows, and there are 3");
}

#[test]
fn refuses_what_does_not_fit() {
    let message = |source: Result<Source<'_>, PackError>| source.err().unwrap().to_string();
    let bytes = [0; 64];
    assert_eq!(
        [
            message(Source::of_columns(StorageFormat::Q8_0, &bytes, 2, 32)),
            message(Source::fp8_blocks(&bytes, vec![1.0; 3], 1, 64)),
            message(Source::nvfp4(&bytes, &bytes, 1.0, 2, 40)),
            message(Source::nvfp4(&bytes, &bytes[..7], 1.0, 4, 32)),
            message(Source::mxfp4(&bytes, &bytes, 5, 32)),
            message(Source::fp8(&bytes, 1.0, 3, 20)),
        ],
        [
            "a transposed matrix is stored as f32, f16 or bf16, and this one is q8_0",
            "1 scales of fp8_e4m3 belong to this shape, and there are 3",
            "nvfp4 stores blocks of 16, and rows of 40 are not a whole number of them",
            "8 scales of nvfp4 belong to this shape, and there are 7",
            "5 rows of 32 in mxfp4 are 80 bytes, and there are 64",
            "3 rows of 20 in fp8_e4m3 are 60 bytes, and there are 64",
        ]
    );
}
