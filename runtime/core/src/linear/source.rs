//! `Source`: the stored bytes of a matrix, wherever its rows and their scales lie.

#[cfg(test)]
mod tests;

use tenon_formats::StorageFormat;
pub(crate) use tenon_formats::storage::FP8_BLOCK;

use super::{PackError, row_bytes};

/// A stored matrix `[rows, inputs]`.
pub(crate) struct Source<'a> {
    pub(crate) format: StorageFormat,
    pub(crate) rows: usize,
    pub(crate) inputs: usize,
    /// What every weight is multiplied by, after everything else.
    pub(crate) factor: f32,
    layout: Layout<'a>,
}

/// How the rows lie.
enum Layout<'a> {
    /// Row after row, each a whole number of blocks.
    Rows(&'a [u8]),
    /// Transposed: `[inputs, columns]`, of which the rows of the matrix are the first `rows` columns.
    Columns { data: &'a [u8], columns: usize },
    /// Elements of fp8, with one scale per block of [`FP8_BLOCK`] rows by as many columns.
    Fp8Blocks { data: &'a [u8], scales: Vec<f32> },
    /// Two elements in a byte, the first in the low bits; a scale per 16.
    Nvfp4 { data: &'a [u8], scales: &'a [u8] },
    /// Two elements in a byte, the first in the low bits; a scale per 32.
    Mxfp4 { data: &'a [u8], scales: &'a [u8] },
}

impl<'a> Source<'a> {
    /// Row after row in `format`, with all scales in its blocks.
    pub(crate) fn of_rows(format: StorageFormat, data: &'a [u8], rows: usize, inputs: usize) -> Result<Self, PackError> {
        row_bytes(format, rows, inputs, data.len())?;
        Ok(Self { format, rows, inputs, factor: 1.0, layout: Layout::Rows(data) })
    }

    /// The transposed matrix: `data` is `[inputs, rows]` in f32, f16 or bf16.
    pub(crate) fn of_columns(format: StorageFormat, data: &'a [u8], rows: usize, inputs: usize) -> Result<Self, PackError> {
        if format.is_quantised() {
            return Err(PackError::Transposed { format });
        }
        row_bytes(format, inputs, rows, data.len())?;
        Ok(Self { format, rows, inputs, factor: 1.0, layout: Layout::Columns { data, columns: rows } })
    }

    /// fp8 with one scale for all.
    pub(crate) fn fp8(data: &'a [u8], factor: f32, rows: usize, inputs: usize) -> Result<Self, PackError> {
        Ok(Self { factor, ..Self::of_rows(StorageFormat::Fp8E4m3, data, rows, inputs)? })
    }

    /// fp8 with `scales`, `[ceil(rows / 128), ceil(inputs / 128)]`.
    pub(crate) fn fp8_blocks(data: &'a [u8], scales: Vec<f32>, rows: usize, inputs: usize) -> Result<Self, PackError> {
        let plain = Self::of_rows(StorageFormat::Fp8E4m3, data, rows, inputs)?;
        check_scales(plain.format, rows.div_ceil(FP8_BLOCK) * inputs.div_ceil(FP8_BLOCK), scales.len())?;
        Ok(Self { layout: Layout::Fp8Blocks { data, scales }, ..plain })
    }

    /// nvfp4: `data` is `[rows, inputs / 2]` and `scales` is `[rows, inputs / 16]`, bytes both.
    pub(crate) fn nvfp4(data: &'a [u8], scales: &'a [u8], factor: f32, rows: usize, inputs: usize) -> Result<Self, PackError> {
        check_halves(StorageFormat::Nvfp4, data, scales, rows, inputs)?;
        Ok(Self { format: StorageFormat::Nvfp4, rows, inputs, factor, layout: Layout::Nvfp4 { data, scales } })
    }

    /// mxfp4: `data` is `[rows, inputs / 2]` and `scales` is `[rows, inputs / 32]`, bytes both.
    pub(crate) fn mxfp4(data: &'a [u8], scales: &'a [u8], rows: usize, inputs: usize) -> Result<Self, PackError> {
        check_halves(StorageFormat::Mxfp4, data, scales, rows, inputs)?;
        Ok(Self { format: StorageFormat::Mxfp4, rows, inputs, factor: 1.0, layout: Layout::Mxfp4 { data, scales } })
    }

    /// The elements of fp8, row after row, and the scale of each block of [`FP8_BLOCK`] rows by as many columns. `None` for other
    /// formats.
    pub(crate) fn fp8_parts(&self) -> Option<(&'a [u8], Vec<f32>)> {
        match &self.layout {
            Layout::Fp8Blocks { data, scales } => Some((data, scales.clone())),
            Layout::Rows(data) if self.format == StorageFormat::Fp8E4m3 => {
                let blocks = self.rows.div_ceil(FP8_BLOCK) * self.inputs.div_ceil(FP8_BLOCK);
                Some((data, vec![self.factor; blocks]))
            }
            _ => None,
        }
    }

    /// All rows in the blocks of the format, one after the other.
    pub(super) fn all_rows(&self) -> Vec<u8> {
        let (mut all, mut buffer) = (Vec::new(), Vec::new());
        (0..self.rows).for_each(|row| all.extend_from_slice(self.row(row, 1, &mut buffer)));
        all
    }

    /// A row in f32, with all its scales.
    ///
    /// # Panics
    /// If `out` is not a row.
    #[cfg(any(test, feature = "cuda"))]
    pub(crate) fn decode(&self, row: usize, out: &mut [f32]) {
        assert_eq!(out.len(), self.inputs, "a row of the matrix");
        use super::{decode::decode_row, stored::e4m3};
        let mut buffer = Vec::new();
        let stored = self.row(row, 1, &mut buffer);
        if self.has_fp8_blocks() {
            for (out, [a, b, c, d, element]) in out.iter_mut().zip(stored.as_chunks::<5>().0) {
                *out = e4m3(*element) * f32::from_le_bytes([*a, *b, *c, *d]);
            }
        } else {
            decode_row(self.format, stored, out);
        }
        out.iter_mut().for_each(|x| *x *= self.factor);
    }

    /// True where blocks of fp8 have scales of their own.
    pub(super) fn has_fp8_blocks(&self) -> bool {
        matches!(self.layout, Layout::Fp8Blocks { .. })
    }

    /// The bytes of a row in the blocks of its format, put together in `buffer` where the file has them apart; of fp8 the elements alone.
    #[cfg(feature = "cuda")]
    pub(crate) fn elements<'b>(&'b self, row: usize, buffer: &'b mut Vec<u8>) -> &'b [u8] {
        match &self.layout {
            Layout::Fp8Blocks { data, .. } => &data[row * self.inputs..][..self.inputs],
            _ => self.row(row, 1, buffer),
        }
    }

    /// The bytes of a row in the blocks of its format, put together in `buffer` where the file has them apart. A row of fp8 with
    /// scales becomes blocks of `fp8` elements, each after its f32 scale.
    pub(super) fn row<'b>(&'b self, row: usize, fp8: usize, buffer: &'b mut Vec<u8>) -> &'b [u8] {
        buffer.clear();
        match &self.layout {
            Layout::Rows(data) => {
                let bytes = data.len() / self.rows;
                return &data[row * bytes..][..bytes];
            }
            Layout::Columns { data, columns } => {
                let bytes = self.format.block_bytes();
                for k in 0..self.inputs {
                    buffer.extend_from_slice(&data[(k * columns + row) * bytes..][..bytes]);
                }
            }
            Layout::Fp8Blocks { data, scales } => {
                let across = self.inputs.div_ceil(FP8_BLOCK);
                let scales = &scales[row / FP8_BLOCK * across..][..across];
                for (b, block) in data[row * self.inputs..][..self.inputs].chunks(fp8).enumerate() {
                    buffer.extend(scales[b * fp8 / FP8_BLOCK].to_le_bytes());
                    buffer.extend(block);
                }
            }
            Layout::Nvfp4 { data, scales } => {
                let blocks = self.inputs / 16;
                let scales = &scales[row * blocks..][..blocks];
                for (scale, block) in scales.iter().zip(data[row * blocks * 8..].as_chunks::<8>().0) {
                    buffer.push(*scale);
                    buffer.extend(block);
                }
            }
            Layout::Mxfp4 { data, scales } => {
                let blocks = self.inputs / 32;
                let scales = &scales[row * blocks..][..blocks];
                for (scale, block) in scales.iter().zip(data[row * blocks * 16..].as_chunks::<16>().0) {
                    buffer.push(*scale);
                    // Neighbours in a byte become halves of the block.
                    let element = |k: usize| block[k / 2] >> (4 * (k % 2)) & 15;
                    buffer.extend((0..16).map(|k| element(k) | element(k + 16) << 4));
                }
            }
        }
        buffer
    }
}

fn check_halves(format: StorageFormat, data: &[u8], scales: &[u8], rows: usize, inputs: usize) -> Result<(), PackError> {
    let block = format.block_len();
    if !inputs.is_multiple_of(block) {
        return Err(PackError::Blocks { format, inputs });
    }
    let expected = rows * inputs / 2;
    if data.len() != expected {
        return Err(PackError::Length { format, rows, inputs, expected, found: data.len() });
    }
    check_scales(format, rows * inputs / block, scales.len())
}

fn check_scales(format: StorageFormat, expected: usize, found: usize) -> Result<(), PackError> {
    if expected == found { Ok(()) } else { Err(PackError::Scales { format, expected, found }) }
}
