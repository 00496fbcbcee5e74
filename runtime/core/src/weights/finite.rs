//! The check that the stored weights are numbers.
//!
//! One NaN makes every logit NaN that depends on it, and then the first token wins; a file with one is damaged, and says nothing
//! about it. Of quantised blocks the scales are read, because any quant is a number; of the others every element.

use std::fmt;

use tenon_formats::StorageFormat;

use super::LoadError;
use crate::cpu::Cpu;
use crate::cpu::grid::Grid;

/// Blocks that are read before the answer is written down.
const PIECE: usize = 16 * 1024;

/// Where a tensor is not finite, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFinite {
    /// The storage format.
    pub format: StorageFormat,
    /// The row.
    pub row: usize,
    /// The first column of the block, or the column of the element.
    pub column: usize,
    /// `NaN` or `infinite`.
    pub what: &'static str,
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, row, column, what } = self;
        match format.block_len() {
            1 => write!(f, "row {row}, column {column} is {what}"),
            block => write!(f, "row {row}, columns {column}..{} have a {format} scale that is {what}", column + block),
        }
    }
}

/// Reads the whole tensor once.
pub(super) fn check(cpu: &Cpu, name: &str, shape: &[usize], format: StorageFormat, bytes: &[u8]) -> Result<(), LoadError> {
    let Some(block) = first_not_finite(cpu, format, bytes) else { return Ok(()) };
    let stored = &bytes[block * format.block_bytes()..][..format.block_bytes()];
    let what = if has_nan(format, stored) { "NaN" } else { "infinite" };
    Err(not_finite(name, shape, format, block, what))
}

/// Reads the scales of mxfp4 where they have a tensor of their own, `[.., inputs / 32]`: one of them is NaN.
pub(super) fn check_powers(name: &str, shape: &[usize], scales: &[u8]) -> Result<(), LoadError> {
    let Some(block) = scales.iter().position(|&scale| scale == NAN_POWER) else { return Ok(()) };
    let format = StorageFormat::Mxfp4;
    let elements: Vec<usize> =
        shape.iter().rev().enumerate().map(|(i, &dim)| if i == 0 { 32 * dim } else { dim }).rev().collect();
    Err(not_finite(name, &elements, format, block, "NaN"))
}

fn not_finite(name: &str, shape: &[usize], format: StorageFormat, block: usize, what: &'static str) -> LoadError {
    let width = shape.last().map_or(1, |&width| width.max(1));
    let (row, column) = (block * format.block_len() / width, block * format.block_len() % width);
    LoadError::NotFinite { tensor: name.to_owned(), problem: NotFinite { format, row, column, what } }
}

/// The first block, or element, that is not finite.
fn first_not_finite(cpu: &Cpu, format: StorageFormat, bytes: &[u8]) -> Option<usize> {
    let piece_bytes = PIECE * format.block_bytes();
    let mut all_finite = vec![true; bytes.len().div_ceil(piece_bytes)];
    let unit = cpu.row_unit(all_finite.len(), bytes.len() / format.block_bytes());
    cpu.over(&mut Grid::of_rows(&mut all_finite, 1, unit), |mut cell| {
        for piece in cell.rows.clone() {
            let end = bytes.len().min((piece + 1) * piece_bytes);
            cell.row_mut(piece)[0] = is_finite(format, &bytes[piece * piece_bytes..end]);
        }
    });
    let piece = all_finite.iter().position(|finite| !finite)?;
    let blocks = bytes[piece * piece_bytes..].chunks_exact(format.block_bytes());
    blocks.into_iter().position(|block| !is_finite(format, block)).map(|block| piece * PIECE + block)
}

/// Bits of a float that are all set in NaN and infinities, and in nothing else.
const F32_EXPONENT: u32 = 0x7f80_0000;
const F16_EXPONENT: u16 = 0x7c00;
const BF16_EXPONENT: u16 = 0x7f80;
/// The bits of E4M3 that are all set in NaN; it has no infinities.
const E4M3_NAN: u8 = 0x7f;
/// The exponent that is NaN.
const NAN_POWER: u8 = 0xff;

/// True when no block, or element, of a stretch of whole ones is NaN or infinite.
fn is_finite(format: StorageFormat, bytes: &[u8]) -> bool {
    // Without an early end in the loops: the compiler then compares many at a time.
    match format {
        StorageFormat::F32 => {
            let words = bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b));
            !words.fold(false, |found, word| found | (word & F32_EXPONENT == F32_EXPONENT))
        }
        StorageFormat::F16 => halves_are_finite(bytes, F16_EXPONENT),
        StorageFormat::Bf16 => halves_are_finite(bytes, BF16_EXPONENT),
        StorageFormat::Fp8E4m3 => !bytes.iter().fold(false, |found, byte| found | (byte & E4M3_NAN == E4M3_NAN)),
        StorageFormat::Nvfp4 => !bytes.as_chunks::<9>().0.iter().any(|block| block[0] & E4M3_NAN == E4M3_NAN),
        StorageFormat::Mxfp4 => !bytes.as_chunks::<17>().0.iter().any(|block| block[0] == NAN_POWER),
        blocks => {
            let scales = blocks.scales();
            let special = |block: &[u8]| scales.iter().any(|&at| half(block, at) & F16_EXPONENT == F16_EXPONENT);
            !bytes.chunks_exact(blocks.block_bytes()).any(special)
        }
    }
}

fn halves_are_finite(bytes: &[u8], exponent: u16) -> bool {
    let halves = bytes.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b));
    !halves.fold(false, |found, half| found | (half & exponent == exponent))
}

/// True when a block that is not finite has a NaN, false when it has infinities only.
fn has_nan(format: StorageFormat, block: &[u8]) -> bool {
    match format {
        StorageFormat::F32 => f32::from_le_bytes([block[0], block[1], block[2], block[3]]).is_nan(),
        StorageFormat::F16 => half::f16::from_bits(half(block, 0)).is_nan(),
        StorageFormat::Bf16 => half::bf16::from_bits(half(block, 0)).is_nan(),
        StorageFormat::Fp8E4m3 | StorageFormat::Nvfp4 | StorageFormat::Mxfp4 => true,
        blocks => blocks.scales().iter().any(|&at| half::f16::from_bits(half(block, at)).is_nan()),
    }
}

fn half(block: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([block[at], block[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Isa;

    /// Quiet and signalling NaN, infinities: as f32, f16 and bf16 bits.
    const SPECIAL: [(u32, u16, u16); 4] = [
        (0x7fc0_0000, 0x7e00, 0x7fc0),
        (0xff80_0001, 0xfc01, 0xff81),
        (0x7f80_0000, 0x7c00, 0x7f80),
        (0xff80_0000, 0xfc00, 0xff80),
    ];

    fn find(format: StorageFormat, bytes: &[u8]) -> Option<usize> {
        let found = [1, 2, 3].map(|threads| first_not_finite(&Cpu::new(threads, Isa::Portable).unwrap(), format, bytes));
        assert!(found.iter().all(|f| *f == found[0]), "{found:?}");
        found[0]
    }

    #[test]
    fn every_place_of_every_format_is_seen() {
        for format in StorageFormat::ALL {
            let blocks = 2 * PIECE + 3;
            // The largest finite values; in quants any byte may stand, and 0xff is the byte of a NaN.
            let block: Vec<u8> = match format {
                StorageFormat::F32 => f32::MAX.to_le_bytes().to_vec(),
                StorageFormat::F16 => 0xfbffu16.to_le_bytes().to_vec(),
                StorageFormat::Bf16 => 0x7f7fu16.to_le_bytes().to_vec(),
                StorageFormat::Fp8E4m3 => vec![0xfe],
                StorageFormat::Nvfp4 | StorageFormat::Mxfp4 => {
                    let mut block = vec![0xff; format.block_bytes()];
                    block[0] = 0xfe;
                    block
                }
                quantised => {
                    let mut block = vec![0xff; quantised.block_bytes()];
                    quantised.scales().iter().for_each(|&at| block[at..at + 2].copy_from_slice(&0x7bffu16.to_le_bytes()));
                    block
                }
            };
            let mut bytes = block.repeat(blocks);
            assert_eq!(find(format, &bytes), None, "{format}");
            let places = if format.scales().is_empty() { &[0] } else { format.scales() };
            for at in [0, 1, PIECE - 1, PIECE, 2 * PIECE + 2] {
                for (f32, f16, bf16) in SPECIAL {
                    if matches!(format, StorageFormat::Fp8E4m3 | StorageFormat::Nvfp4 | StorageFormat::Mxfp4) {
                        // They have no infinities.
                        bytes[at * block.len()] = 0xff;
                        assert_eq!(find(format, &bytes), Some(at), "{format}");
                        bytes[at * block.len()] = block[0];
                        continue;
                    }
                    for place in places {
                        let start = at * block.len();
                        match format {
                            StorageFormat::F32 => bytes[start..start + 4].copy_from_slice(&f32.to_le_bytes()),
                            StorageFormat::Bf16 => bytes[start..start + 2].copy_from_slice(&bf16.to_le_bytes()),
                            _ => bytes[start + place..start + place + 2].copy_from_slice(&f16.to_le_bytes()),
                        }
                        assert_eq!(find(format, &bytes), Some(at), "{format} {f16:x}");
                        let is_nan = f32::from_bits(f32).is_nan();
                        assert_eq!(has_nan(format, &bytes[start..start + block.len()]), is_nan, "{format} {f16:x}");
                        bytes[start..start + block.len()].copy_from_slice(&block);
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_of_several_is_named() {
        let mut values = vec![0.0f32; 3 * PIECE];
        (values[2 * PIECE + 1], values[PIECE + 7], values[PIECE + 9]) = (f32::NAN, f32::INFINITY, f32::NAN);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(find(StorageFormat::F32, &bytes), Some(PIECE + 7));
        assert_eq!(find(StorageFormat::F32, &[]), None);
    }
}
