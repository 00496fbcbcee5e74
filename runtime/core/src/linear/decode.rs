//! Stored elements to f32, one after the other: for vectors, embedding rows, and whatever is not on the hot path.

use half::{bf16, f16};
use tenon_formats::StorageFormat;

/// Decodes a row of `out.len()` elements.
///
/// # Panics
/// If `bytes` is not exactly that row: callers compare the lengths first and can say what is wrong with them.
pub(super) fn decode_row(format: StorageFormat, bytes: &[u8], out: &mut [f32]) {
    assert_eq!(format.row_bytes(out.len()), Some(bytes.len()), "bytes of a {format} row of {}", out.len());
    match format {
        StorageFormat::F32 => decode_each(bytes, out, f32::from_le_bytes),
        StorageFormat::F16 => decode_each(bytes, out, |b| f16::from_le_bytes(b).to_f32()),
        StorageFormat::Bf16 => decode_each(bytes, out, |b| bf16::from_le_bytes(b).to_f32()),
        StorageFormat::Q4_0 => decode_blocks::<18>(bytes, out, |[d0, d1, q @ ..], out| {
            let d = half_at(*d0, *d1);
            nibbles::<16>(q, |i, q| out[i] = d * f32::from(i16::from(q) - 8));
        }),
        StorageFormat::Q4_1 => decode_blocks::<20>(bytes, out, |[d0, d1, m0, m1, q @ ..], out| {
            let (d, m) = (half_at(*d0, *d1), half_at(*m0, *m1));
            nibbles::<16>(q, |i, q| out[i] = d * f32::from(q) + m);
        }),
        StorageFormat::Q8_0 => decode_blocks::<34>(bytes, out, |[d0, d1, q @ ..], out| {
            let d = half_at(*d0, *d1);
            for (out, &q) in out.iter_mut().zip(q) {
                *out = d * f32::from(q as i8);
            }
        }),
    }
}

fn decode_each<const BYTES: usize>(bytes: &[u8], out: &mut [f32], decode: impl Fn([u8; BYTES]) -> f32) {
    for (out, &stored) in out.iter_mut().zip(bytes.as_chunks::<BYTES>().0) {
        *out = decode(stored);
    }
}

fn decode_blocks<const BYTES: usize>(bytes: &[u8], out: &mut [f32], decode: impl Fn(&[u8; BYTES], &mut [f32; 32])) {
    for (stored, out) in bytes.as_chunks::<BYTES>().0.iter().zip(out.as_chunks_mut::<32>().0) {
        decode(stored, out);
    }
}

/// The f16 with these two bytes.
pub(super) fn half_at(low: u8, high: u8) -> f32 {
    f16::from_le_bytes([low, high]).to_f32()
}

/// Low nibbles are the first half of a block, high nibbles the second.
fn nibbles<const BYTES: usize>(packed: &[u8; BYTES], mut take: impl FnMut(usize, u8)) {
    for (i, byte) in packed.iter().enumerate() {
        take(i, byte & 15);
        take(i + BYTES, byte >> 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(format: StorageFormat, bytes: &[u8], len: usize) -> Vec<f32> {
        let mut out = vec![f32::NAN; len];
        decode_row(format, bytes, &mut out);
        out
    }

    #[test]
    fn floats() {
        assert_eq!(decoded(StorageFormat::F32, &1.5f32.to_le_bytes(), 1), [1.5]);
        assert_eq!(decoded(StorageFormat::F16, &[0x00, 0x3e, 0x00, 0xc0], 2), [1.5, -2.0]);
        assert_eq!(decoded(StorageFormat::Bf16, &[0xc0, 0x3f, 0x00, 0xc0], 2), [1.5, -2.0]);
    }

    #[test]
    fn blocks_have_their_scale_first_and_the_halves_in_nibbles() {
        // d = 0.5, m = -1; element 0 is 3, element 16 is 12.
        let mut q4_1 = [0u8; 20];
        q4_1[..5].copy_from_slice(&[0x00, 0x38, 0x00, 0xbc, 0xc3]);
        let out = decoded(StorageFormat::Q4_1, &q4_1, 32);
        assert_eq!((out[0], out[1], out[16], out[31]), (0.5, -1.0, 5.0, -1.0));
        let mut q4_0 = [0u8; 18];
        q4_0[..3].copy_from_slice(&[0x00, 0x38, 0xc3]);
        let out = decoded(StorageFormat::Q4_0, &q4_0, 32);
        assert_eq!((out[0], out[1], out[16], out[31]), (-2.5, -4.0, 2.0, -4.0));
        let mut q8_0 = [0u8; 34];
        q8_0[..4].copy_from_slice(&[0x00, 0x38, 0x80, 0x7f]);
        assert_eq!(decoded(StorageFormat::Q8_0, &q8_0, 32)[..3], [-64.0, 63.5, 0.0]);
    }

    #[test]
    #[should_panic(expected = "bytes of a q4_1 row of 64")]
    fn a_row_of_another_length_is_a_bug() {
        decoded(StorageFormat::Q4_1, &[0; 20], 64);
    }
}
