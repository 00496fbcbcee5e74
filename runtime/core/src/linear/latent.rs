//! `LatentUp`: the projection from latents to keys and values, which attention either applies or absorbs.

use half::f16;
use tenon_formats::StorageFormat;

use super::decode::decode_row;
use super::{PackError, row_bytes};
use crate::cpu::simd::Simd;

/// `kv_b_proj` of multi-head latent attention, `[HEADS * (NOPE + V), R]`: for each head `NOPE` rows that make the part of a key that has
/// no position, then `V` rows that make a value, of a latent of `R` elements.
///
/// It is not a [`Linear`](super::Linear), because attention uses it one head at a time and in both directions. Rows stay in their
/// stored format, f32, f16 and bf16 as they are, and are widened where they are used; quantised rows are decoded one element at a time,
/// which is slow.
pub struct LatentUp<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize>(Stored);

/// Rows one after the other.
enum Stored {
    F32(Box<[f32]>),
    F16(Box<[u16]>),
    Bf16(Box<[u16]>),
    Blocks { format: StorageFormat, bytes: Box<[u8]>, row: usize },
}

impl<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize> LatentUp<HEADS, NOPE, V, R> {
    /// Takes `data`, which is `[HEADS * (NOPE + V), R]` in `format`, row by row.
    ///
    /// # Errors
    /// When `data` is not of that shape.
    pub fn pack(format: StorageFormat, data: &[u8]) -> Result<Self, PackError> {
        const { assert!(HEADS > 0 && NOPE > 0 && V > 0 && R > 0, "a projection has at least one element") };
        let row = row_bytes(format, HEADS * (NOPE + V), R, data.len())?;
        let halves = || data.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
        Ok(Self(match format {
            StorageFormat::F32 => Stored::F32(data.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()),
            StorageFormat::F16 => Stored::F16(halves()),
            StorageFormat::Bf16 => Stored::Bf16(halves()),
            format => Stored::Blocks { format, bytes: data.into(), row },
        }))
    }

    /// The storage format.
    pub fn format(&self) -> StorageFormat {
        match self.0 {
            Stored::F32(_) => StorageFormat::F32,
            Stored::F16(_) => StorageFormat::F16,
            Stored::Bf16(_) => StorageFormat::Bf16,
            Stored::Blocks { format, .. } => format,
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Stored::F32(rows) => size_of_val(&**rows),
            Stored::F16(rows) | Stored::Bf16(rows) => size_of_val(&**rows),
            Stored::Blocks { bytes, .. } => bytes.len(),
        }
    }

    /// The dimensions as values.
    pub(crate) fn view(&self) -> UpView<'_> {
        UpView { stored: &self.0, heads: HEADS, nope: NOPE, v: V, rank: R }
    }
}

impl<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize> std::fmt::Debug for LatentUp<HEADS, NOPE, V, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LatentUp<{HEADS}, {NOPE}, {V}, {R}>({})", self.format())
    }
}

/// A [`LatentUp`] to be read.
#[derive(Clone, Copy)]
pub(crate) struct UpView<'a> {
    stored: &'a Stored,
    pub(crate) heads: usize,
    pub(crate) nope: usize,
    pub(crate) v: usize,
    pub(crate) rank: usize,
}

impl UpView<'_> {
    /// Widens rows `first..` of head `head` into `out`, which has the elements of whole rows. Row `i` makes element `i` of the key for
    /// `i < nope`, and element `i - nope` of the value after that.
    #[inline(always)]
    pub(crate) fn widen<S: Simd>(&self, s: S, head: usize, first: usize, out: &mut [f32]) {
        let start = head * (self.nope + self.v) + first;
        let elements = start * self.rank..start * self.rank + out.len();
        match self.stored {
            Stored::F32(rows) => out.copy_from_slice(&rows[elements]),
            Stored::F16(rows) => {
                let ((wide, wide_rest), (stored, rest)) = (out.as_chunks_mut::<8>(), rows[elements].as_chunks::<8>());
                for (wide, stored) in wide.iter_mut().zip(stored) {
                    s.store(s.load_f16(stored), wide);
                }
                for (wide, &stored) in wide_rest.iter_mut().zip(rest) {
                    *wide = f16::from_bits(stored).to_f32();
                }
            }
            Stored::Bf16(rows) => {
                let ((wide, wide_rest), (stored, rest)) = (out.as_chunks_mut::<8>(), rows[elements].as_chunks::<8>());
                for (wide, stored) in wide.iter_mut().zip(stored) {
                    s.store(s.load_bf16(stored), wide);
                }
                for (wide, &stored) in wide_rest.iter_mut().zip(rest) {
                    *wide = f32::from_bits(u32::from(stored) << 16);
                }
            }
            Stored::Blocks { format, bytes, row } => {
                let rows = out.len() / self.rank;
                decode_row(*format, &bytes[start * row..][..rows * row], out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::Kernel;
    use crate::testing::{Random, each_isa};

    struct Widen<'a>(UpView<'a>, usize, usize, &'a mut [f32]);
    impl Kernel for Widen<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            self.0.widen(s, self.1, self.2, self.3);
        }
    }

    /// Rows of any head, from any row on, are what the scalar decoder makes of the stored rows.
    fn check<const R: usize>(format: StorageFormat) {
        let mut random = Random::new(R as u64);
        let row = format.row_bytes(R).unwrap();
        let mut bytes: Vec<u8> = (0..3 * 7 * row).map(|_| random.bits() as u8).collect();
        if format == StorageFormat::F32 || format == StorageFormat::F16 || format == StorageFormat::Bf16 {
            // No NaN, which equals nothing: the exponent is not all ones.
            bytes.chunks_exact_mut(format.block_bytes()).for_each(|element| element[element.len() - 1] &= 0x3b);
        }
        let up = LatentUp::<3, 3, 4, R>::pack(format, &bytes).unwrap();
        assert_eq!((up.bytes(), up.format()), (bytes.len(), format));
        each_isa(|cpu| {
            for (head, first, rows) in [(0, 0, 7), (1, 0, 3), (1, 3, 4), (2, 2, 3), (2, 6, 1)] {
                let mut expected = vec![f32::NAN; rows * R];
                decode_row(format, &bytes[(7 * head + first) * row..][..rows * row], &mut expected);
                let mut wide = vec![f32::NAN; rows * R];
                cpu.lanes().enter(Widen(up.view(), head, first, &mut wide));
                let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&wide), bits(&expected), "{format}");
            }
        });
    }

    #[test]
    fn rows_keep_their_stored_format_and_are_widened_exactly() {
        for format in [StorageFormat::F32, StorageFormat::F16, StorageFormat::Bf16] {
            check::<13>(format);
            check::<48>(format);
        }
        check::<32>(StorageFormat::Q8_0);
        check::<64>(StorageFormat::Q4_1);
    }

    #[test]
    fn another_shape_is_refused() {
        let error = LatentUp::<2, 3, 4, 5>::pack(StorageFormat::Bf16, &[0; 138]).unwrap_err();
        assert_eq!(error.to_string(), "14 rows of 5 in bf16 are 140 bytes, and there are 138");
        let text = format!("{:?}", LatentUp::<2, 3, 4, 5>::pack(StorageFormat::Bf16, &[0; 140]).unwrap());
        assert_eq!(text, "LatentUp<2, 3, 4, 5>(bf16)");
    }
}
