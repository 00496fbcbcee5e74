//! `LatentUp`: the projection from latents to keys and values, which attention either applies or absorbs.

use half::{bf16, f16};
use tenon_formats::StorageFormat;

use super::PackError;
use super::block::E4M3;
use super::decode::decode_row;
use super::source::{FP8_BLOCK, Source};
use crate::cpu::simd::Simd;

/// `kv_b_proj` of multi-head latent attention, `[HEADS * (NOPE + V), R]`: for each head `NOPE` rows that make the part of a key that has
/// no position, then `V` rows that make a value, of a latent of `R` elements.
///
/// It is not a [`Linear`](super::Linear), because attention uses it one head at a time and in both directions. Rows of f32, f16, bf16
/// and fp8 stay as they are stored, fp8 with its scales beside it, and are widened where they are used. Rows of nvfp4 are held in bf16,
/// which has room for their elements times the scales of their blocks, exactly, and is 3.6 times as large. Blocks of GGUF are decoded
/// one element at a time, which is slow.
pub struct LatentUp<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize> {
    format: StorageFormat,
    stored: Stored,
}

/// Rows one after the other.
enum Stored {
    F32(Box<[f32]>),
    F16(Box<[u16]>),
    /// What they are multiplied by is 1, or the scale of a tensor in nvfp4.
    Bf16(Box<[u16]>, f32),
    /// The scales are those of blocks of [`FP8_BLOCK`] rows by as many columns.
    Fp8(Box<[u8]>, Box<[f32]>),
    /// The last is the bytes of a row.
    Blocks(Box<[u8]>, usize),
}

impl<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize> LatentUp<HEADS, NOPE, V, R> {
    /// Takes `data`, which is `[HEADS * (NOPE + V), R]` in `format`, row by row. Scales that the format keeps outside its blocks are 1
    /// here.
    ///
    /// # Errors
    /// When `data` is not of that shape.
    pub fn pack(format: StorageFormat, data: &[u8]) -> Result<Self, PackError> {
        Ok(Self::from_source(&Source::of_rows(format, data, HEADS * (NOPE + V), R)?))
    }

    /// Takes a matrix whose scales may stand apart from it.
    ///
    /// # Panics
    /// If it is not `[HEADS * (NOPE + V), R]`.
    pub(crate) fn from_source(source: &Source<'_>) -> Self {
        const { assert!(HEADS > 0 && NOPE > 0 && V > 0 && R > 0, "a projection has at least one element") };
        assert_eq!([source.rows, source.inputs], [HEADS * (NOPE + V), R], "the rows of all heads");
        let format = source.format;
        if let Some((elements, scales)) = source.fp8_parts() {
            return Self { format, stored: Stored::Fp8(elements.into(), scales.into()) };
        }
        let rows = source.all_rows();
        let halves = || rows.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
        let stored = match format {
            StorageFormat::F32 => Stored::F32(rows.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()),
            StorageFormat::F16 => Stored::F16(halves()),
            StorageFormat::Bf16 => Stored::Bf16(halves(), 1.0),
            StorageFormat::Nvfp4 => {
                let mut wide = vec![0.0; source.rows * source.inputs];
                decode_row(format, &rows, &mut wide);
                // 2 significant bits times 4 are at most 6, of 8.
                Stored::Bf16(wide.into_iter().map(|x| bf16::from_f32(x).to_bits()).collect(), source.factor)
            }
            _ => Stored::Blocks(rows.as_slice().into(), rows.len() / source.rows),
        };
        Self { format, stored }
    }

    /// The storage format of the checkpoint.
    pub fn format(&self) -> StorageFormat {
        self.format
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match &self.stored {
            Stored::F32(rows) => size_of_val(&**rows),
            Stored::F16(rows) | Stored::Bf16(rows, _) => size_of_val(&**rows),
            Stored::Fp8(elements, scales) => elements.len() + size_of_val(&**scales),
            Stored::Blocks(bytes, _) => bytes.len(),
        }
    }

    /// The dimensions as values.
    pub(crate) fn view(&self) -> UpView<'_> {
        UpView { format: self.format, stored: &self.stored, heads: HEADS, nope: NOPE, v: V, rank: R }
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
    format: StorageFormat,
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
            Stored::Bf16(rows, factor) => {
                let ((wide, wide_rest), (stored, rest)) = (out.as_chunks_mut::<8>(), rows[elements].as_chunks::<8>());
                for (wide, stored) in wide.iter_mut().zip(stored) {
                    s.store(s.mul(s.load_bf16(stored), s.splat(*factor)), wide);
                }
                for (wide, &stored) in wide_rest.iter_mut().zip(rest) {
                    *wide = f32::from_bits(u32::from(stored) << 16) * factor;
                }
            }
            Stored::Fp8(bytes, scales) => {
                let across = self.rank.div_ceil(FP8_BLOCK);
                for (row, out) in (start..).zip(out.chunks_exact_mut(self.rank)) {
                    let scales = &scales[row / FP8_BLOCK * across..][..across];
                    let stored = bytes[row * self.rank..][..self.rank].chunks(FP8_BLOCK);
                    for ((out, stored), &scale) in out.chunks_mut(FP8_BLOCK).zip(stored).zip(scales) {
                        widen_fp8(s, stored, scale, out);
                    }
                }
            }
            Stored::Blocks(bytes, row) => {
                let rows = out.len() / self.rank;
                decode_row(self.format, &bytes[start * row..][..rows * row], out);
            }
        }
    }
}

/// Elements of fp8 with one scale.
#[inline(always)]
fn widen_fp8<S: Simd>(s: S, stored: &[u8], scale: f32, out: &mut [f32]) {
    let ((wide, wide_rest), (stored, rest)) = (out.as_chunks_mut::<8>(), stored.as_chunks::<8>());
    let scales = s.mul(s.splat(scale), s.splat(E4M3));
    for (wide, stored) in wide.iter_mut().zip(stored) {
        s.store(s.mul(s.load_e4m3(stored), scales), wide);
    }
    let (mut last, mut last_wide) = ([0; 8], [0.0; 8]);
    last[..rest.len()].copy_from_slice(rest);
    s.store(s.mul(s.load_e4m3(&last), scales), &mut last_wide);
    wide_rest.copy_from_slice(&last_wide[..rest.len()]);
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

    /// Rows of any head, from any row on, are what the source makes of them with all its scales.
    fn check_source<const R: usize>(source: &Source<'_>, bytes: usize) {
        let up = LatentUp::<3, 50, 60, R>::from_source(source);
        assert_eq!((up.bytes(), up.format()), (bytes, source.format));
        each_isa(|cpu| {
            for (head, first, rows) in [(0, 0, 110), (1, 0, 50), (1, 50, 60), (1, 17, 3), (2, 109, 1)] {
                let mut expected = vec![f32::NAN; rows * R];
                for (row, expected) in (110 * head + first..).zip(expected.chunks_exact_mut(R)) {
                    source.decode(row, expected);
                }
                let mut wide = vec![f32::NAN; rows * R];
                cpu.lanes().enter(Widen(up.view(), head, first, &mut wide));
                let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&wide), bits(&expected), "{} on {}", source.format, cpu.isa());
            }
        });
    }

    fn check_fp8<const R: usize>() {
        let mut random = Random::new(R as u64);
        let elements: Vec<u8> = (0..330 * R).map(|_| random.bits() as u8 & 0xf7).collect();
        let scales = random.units(3 * R.div_ceil(128));
        let held = elements.len() + 4 * scales.len();
        check_source::<R>(&Source::fp8(&elements, 0.37, 330, R).unwrap(), held);
        check_source::<R>(&Source::fp8_blocks(&elements, scales, 330, R).unwrap(), held);
    }

    #[test]
    fn scales_that_stand_apart_are_used() {
        check_fp8::<13>();
        check_fp8::<64>();
        check_fp8::<128>();
        check_fp8::<131>();
        check_fp8::<300>();
        let mut random = Random::new(4);
        let elements: Vec<u8> = (0..330 * 24).map(|_| random.bits() as u8).collect();
        let scales: Vec<u8> = (0..330 * 3).map(|_| random.bits() as u8 & 0xf7).collect();
        check_source::<48>(&Source::nvfp4(&elements, &scales, 0.37, 330, 48).unwrap(), 2 * 330 * 48);
    }

    #[test]
    fn another_shape_is_refused() {
        let error = LatentUp::<2, 3, 4, 5>::pack(StorageFormat::Bf16, &[0; 138]).unwrap_err();
        assert_eq!(error.to_string(), "14 rows of 5 in bf16 are 140 bytes, and there are 138");
        let text = format!("{:?}", LatentUp::<2, 3, 4, 5>::pack(StorageFormat::Bf16, &[0; 140]).unwrap());
        assert_eq!(text, "LatentUp<2, 3, 4, 5>(bf16)");
    }
}
