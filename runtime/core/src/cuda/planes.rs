//! From a stored matrix to the planes of a device: rows in the order of outputs, and the table of scales beside them.

use half::bf16;

use super::CudaError;
use super::upload::Uploader;
use crate::cpu::Cpu;
use crate::linear::PackError;
use crate::linear::source::{FP8_BLOCK, Source};

/// What a matrix is beside its rows.
pub(super) struct Beside {
    /// `[ceil(outputs / 128), ceil(inputs / 128)]` of fp8, with the factor in it; empty for other formats.
    pub(super) scales: Vec<f32>,
    /// What is left to multiply with.
    pub(super) factor: f32,
}

impl Beside {
    /// Of `outputs` rows, of which output `o` is row `row(o)` of `source`.
    pub(super) fn of(source: &Source<'_>, outputs: usize, row: impl Fn(usize) -> usize) -> Result<Self, PackError> {
        match source.fp8_parts() {
            None => Ok(Self { scales: Vec::new(), factor: source.factor }),
            Some((_, stored)) => {
                let scales = ordered_scales(&stored, source.inputs.div_ceil(FP8_BLOCK), outputs, row)?;
                Ok(Self { scales, factor: 1.0 })
            }
        }
    }
}

/// The scales of blocks of outputs, from those of blocks of stored rows.
fn ordered_scales(stored: &[f32], across: usize, outputs: usize, row: impl Fn(usize) -> usize) -> Result<Vec<f32>, PackError> {
    let of_row = |output: usize| &stored[row(output) / FP8_BLOCK * across..][..across];
    let mut scales = Vec::with_capacity(outputs.div_ceil(FP8_BLOCK) * across);
    for first in (0..outputs).step_by(FP8_BLOCK) {
        let end = outputs.min(first + FP8_BLOCK);
        let block = of_row(first);
        if (first..end).any(|output| of_row(output).iter().zip(block).any(|(a, b)| a.to_bits() != b.to_bits())) {
            return Err(PackError::SplitScales { first, end });
        }
        scales.extend_from_slice(block);
    }
    Ok(scales)
}

/// Bytes of a row in planes.
pub(super) fn row_bytes(source: &Source<'_>) -> Result<usize, PackError> {
    let Source { format, inputs, .. } = *source;
    format.planes_row_bytes(inputs).ok_or(PackError::Blocks { format, inputs })
}

/// Writes the planes of `outputs` rows to the memory of a device, from byte `at` on.
pub(super) fn upload(
    uploader: &mut Uploader,
    cpu: &Cpu,
    source: &Source<'_>,
    outputs: usize,
    row: impl Fn(usize) -> usize + Sync,
    to: &mut super::DeviceBuffer<super::U8>,
    at: usize,
) -> Result<(), CudaError> {
    let bytes = source.format.planes_row_bytes(source.inputs).expect("rows are whole blocks, as `row_bytes` said");
    uploader.rows(cpu, to, at, outputs, bytes, |output, out, buffer| {
        source.format.to_planes(source.elements(row(output), buffer), out);
    })
}

/// The rows of `heads` heads, `nope` of keys and `v` of values each, rounded to bf16: all keys, and all values.
pub(super) fn latent_up(source: &Source<'_>, heads: usize, nope: usize, v: usize) -> [Vec<bf16>; 2] {
    assert_eq!(source.rows, heads * (nope + v), "the rows of all heads");
    let mut parts = [Vec::with_capacity(heads * nope * source.inputs), Vec::with_capacity(heads * v * source.inputs)];
    let mut wide = vec![0.0; source.inputs];
    for row in 0..source.rows {
        source.decode(row, &mut wide);
        let part = usize::from(row % (nope + v) >= nope);
        parts[part].extend(wide.iter().copied().map(bf16::from_f32));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenon_formats::StorageFormat;

    #[test]
    fn scales_follow_the_rows_of_their_blocks() {
        // 300 stored rows: three blocks of rows, two across.
        let stored = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(ordered_scales(&stored, 2, 300, |o| o).unwrap(), stored);
        // Whole blocks in another order, and a part of the rows.
        let moved = ordered_scales(&stored, 2, 172, |o| if o < 128 { 128 + o } else { o - 128 }).unwrap();
        assert_eq!(moved, [3.0, 4.0, 1.0, 2.0]);
        // Rows from 100 on take the scales of two blocks.
        let error = ordered_scales(&stored, 2, 128, |o| 100 + o).unwrap_err();
        assert_eq!(error, PackError::SplitScales { first: 0, end: 128 });
        // Unless those are the same.
        assert_eq!(ordered_scales(&[0.5; 6], 2, 128, |o| 100 + o).unwrap(), [0.5, 0.5]);
    }

    #[test]
    fn one_scale_of_fp8_becomes_a_table() {
        let data = vec![0x38; 130 * 3];
        let beside = Beside::of(&Source::fp8(&data, 0.25, 130, 3).unwrap(), 130, |o| o).unwrap();
        assert_eq!((beside.scales, beside.factor), (vec![0.25; 2], 1.0));
        let halves = vec![0; 8 * 2];
        let scales = vec![0; 2];
        let beside = Beside::of(&Source::nvfp4(&halves, &scales, 3.0, 2, 16).unwrap(), 2, |o| o).unwrap();
        assert_eq!((beside.scales, beside.factor), (Vec::new(), 3.0));
    }

    /// Planes of a source whose scales stand apart, by the definition of the layout.
    #[test]
    fn elements_of_every_layout_become_planes() {
        let data: Vec<u8> = (0..32).collect();
        let scales = [200, 201, 202, 203];
        let source = Source::nvfp4(&data, &scales, 1.0, 2, 32).unwrap();
        let mut out = vec![0xee; row_bytes(&source).unwrap()];
        source.format.to_planes(source.elements(1, &mut Vec::new()), &mut out);
        // Neighbours stay in a byte: 16 bytes of elements, then the scales in 16.
        let expected: Vec<u8> = (16..32).chain([202, 203]).chain([0; 14]).collect();
        assert_eq!(out, expected);

        let data: Vec<u8> = (0..16).map(|i| 0x10 * (i % 16) + (15 - i % 16)).collect();
        let source = Source::mxfp4(&data, &[99], 1, 32).unwrap();
        let mut out = vec![0xee; row_bytes(&source).unwrap()];
        source.format.to_planes(source.elements(0, &mut Vec::new()), &mut out);
        // Element 2 i is the low nibble of byte i in the file, and byte k of the planes holds elements k and 16 + k.
        let element = |k: usize| data[k / 2] >> (4 * (k % 2)) & 15;
        let expected: Vec<u8> = (0..16).map(|k| element(k) | element(16 + k) << 4).chain([99]).chain([0; 15]).collect();
        assert_eq!(out, expected);

        let data: Vec<u8> = (0..6).collect();
        let source = Source::fp8_blocks(&data, vec![7.0], 2, 3).unwrap();
        assert_eq!((source.format, source.elements(1, &mut Vec::new())), (StorageFormat::Fp8E4m3, &[3u8, 4, 5][..]));
        assert_eq!(row_bytes(&source).unwrap(), 16);
    }

    #[test]
    fn heads_are_divided_into_keys_and_values() {
        // Row r is r, and r + 0.25 in its second element: 2 heads of 2 rows of keys and 1 of values.
        let stored: Vec<u8> = (0..6).flat_map(|r| [r as f32, r as f32 + 0.25]).flat_map(f32::to_le_bytes).collect();
        let source = Source::of_rows(StorageFormat::F32, &stored, 6, 2).unwrap();
        let [keys, values] = latent_up(&source, 2, 2, 1).map(|part| part.iter().map(|x| x.to_f32()).collect::<Vec<_>>());
        assert_eq!(keys, [0.0, 0.25, 1.0, 1.25, 3.0, 3.25, 4.0, 4.25]);
        assert_eq!(values, [2.0, 2.25, 5.0, 5.25]);
    }
}
