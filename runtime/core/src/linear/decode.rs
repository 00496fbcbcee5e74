//! Stored elements to f32, one after the other: for vectors, embedding rows, and whatever is not on the hot path.
//!
//! Blocks are decoded as `dequantize_row_*` of ggml does, with its order of operations.

use half::{bf16, f16};
use tenon_formats::StorageFormat;

use super::stored::{e2m1, e4m3, neighbours, power_of_two, q4, q4_k, q5, q5_k, q6_k, scale_and_minimum};

/// Decodes a row of `out.len()` elements. Scales that the format keeps outside its blocks are 1.
///
/// # Panics
/// If `bytes` is not exactly that row: callers compare the lengths first and can say what is wrong with them.
pub fn decode_row(format: StorageFormat, bytes: &[u8], out: &mut [f32]) {
    assert_eq!(format.row_bytes(out.len()), Some(bytes.len()), "bytes of a {format} row of {}", out.len());
    match format {
        StorageFormat::F32 => decode_each(bytes, out, f32::from_le_bytes),
        StorageFormat::F16 => decode_each(bytes, out, |b| f16::from_le_bytes(b).to_f32()),
        StorageFormat::Bf16 => decode_each(bytes, out, |b| bf16::from_le_bytes(b).to_f32()),
        StorageFormat::Q4_0 => decode_blocks::<18, 32>(bytes, out, |block, out| {
            let d = half_at(block, 0);
            each(out, |k| d * f32::from(i16::from(q4(&block[2..], k)) - 8));
        }),
        StorageFormat::Q4_1 => decode_blocks::<20, 32>(bytes, out, |block, out| {
            let (d, m) = (half_at(block, 0), half_at(block, 2));
            each(out, |k| d * f32::from(q4(&block[4..], k)) + m);
        }),
        StorageFormat::Q5_0 => decode_blocks::<22, 32>(bytes, out, |block, out| {
            let d = half_at(block, 0);
            each(out, |k| d * f32::from(i16::from(q5(&block[2..], k)) - 16));
        }),
        StorageFormat::Q5_1 => decode_blocks::<24, 32>(bytes, out, |block, out| {
            let (d, m) = (half_at(block, 0), half_at(block, 2));
            each(out, |k| d * f32::from(q5(&block[4..], k)) + m);
        }),
        StorageFormat::Q8_0 => decode_blocks::<34, 32>(bytes, out, |block, out| {
            let d = half_at(block, 0);
            each(out, |k| d * f32::from(block[2 + k] as i8));
        }),
        StorageFormat::Q4K => decode_blocks::<144, 256>(bytes, out, |block, out| {
            groups(block, out, |k| q4_k(&block[16..], k));
        }),
        StorageFormat::Q5K => decode_blocks::<176, 256>(bytes, out, |block, out| {
            groups(block, out, |k| q5_k(&block[16..], k));
        }),
        StorageFormat::Q6K => decode_blocks::<210, 256>(bytes, out, |block, out| {
            let (scales, d) = (&block[192..208], half_at(block, 208));
            each(out, |k| d * f32::from(scales[k / 16] as i8) * f32::from(i16::from(q6_k(block, k)) - 32));
        }),
        StorageFormat::Fp8E4m3 => decode_each(bytes, out, |[b]| e4m3(b)),
        StorageFormat::Nvfp4 => decode_blocks::<9, 16>(bytes, out, |block, out| {
            let d = e4m3(block[0]);
            each(out, |k| d * e2m1(neighbours(&block[1..], k)));
        }),
        StorageFormat::Mxfp4 => decode_blocks::<17, 32>(bytes, out, |block, out| {
            let d = power_of_two(block[0]);
            each(out, |k| d * e2m1(q4(&block[1..], k)));
        }),
    }
}

fn decode_each<const BYTES: usize>(bytes: &[u8], out: &mut [f32], decode: impl Fn([u8; BYTES]) -> f32) {
    for (out, &stored) in out.iter_mut().zip(bytes.as_chunks::<BYTES>().0) {
        *out = decode(stored);
    }
}

fn decode_blocks<const BYTES: usize, const LEN: usize>(
    bytes: &[u8],
    out: &mut [f32],
    decode: impl Fn(&[u8; BYTES], &mut [f32; LEN]),
) {
    for (stored, out) in bytes.as_chunks::<BYTES>().0.iter().zip(out.as_chunks_mut::<LEN>().0) {
        decode(stored, out);
    }
}

fn each<const LEN: usize>(out: &mut [f32; LEN], weight: impl Fn(usize) -> f32) {
    for (k, out) in out.iter_mut().enumerate() {
        *out = weight(k);
    }
}

/// A block of 8 groups, which begins with `d`, `dmin`, and the scales and minima of the groups.
fn groups(block: &[u8], out: &mut [f32; 256], q: impl Fn(usize) -> u8) {
    let (d, dmin) = (half_at(block, 0), half_at(block, 2));
    for (g, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (scale, minimum) = scale_and_minimum(&block[4..16], g);
        let (d, m) = (d * f32::from(scale), dmin * f32::from(minimum));
        each(out, |k| d * f32::from(q(32 * g + k)) - m);
    }
}

/// The f16 at byte `at`.
fn half_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
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

    /// Rows of each quantised format, then what the `gguf` package of Python decodes them to; `fixtures/make.py` wrote them.
    const FIXTURES: [(StorageFormat, &[u8]); 9] = [
        (StorageFormat::Q4_0, include_bytes!("fixtures/q4_0.bin")),
        (StorageFormat::Q4_1, include_bytes!("fixtures/q4_1.bin")),
        (StorageFormat::Q5_0, include_bytes!("fixtures/q5_0.bin")),
        (StorageFormat::Q5_1, include_bytes!("fixtures/q5_1.bin")),
        (StorageFormat::Q8_0, include_bytes!("fixtures/q8_0.bin")),
        (StorageFormat::Q4K, include_bytes!("fixtures/q4_k.bin")),
        (StorageFormat::Q5K, include_bytes!("fixtures/q5_k.bin")),
        (StorageFormat::Q6K, include_bytes!("fixtures/q6_k.bin")),
        (StorageFormat::Mxfp4, include_bytes!("fixtures/mxfp4.bin")),
    ];

    #[test]
    fn blocks_decode_to_the_bits_that_the_gguf_package_has() {
        // The other two are not of GGUF: the tests of `source` have them.
        let apart = [StorageFormat::Fp8E4m3, StorageFormat::Nvfp4];
        let quantised = StorageFormat::ALL.into_iter().filter(|f| f.is_quantised() && !apart.contains(f));
        assert!(quantised.eq(FIXTURES.map(|(format, _)| format)), "each quantised format has a fixture");
        for (format, fixture) in FIXTURES {
            let block = format.block_bytes() + 4 * format.block_len();
            assert!(fixture.len().is_multiple_of(block) && fixture.len() / block >= 2, "{format}: {} bytes", fixture.len());
            let len = fixture.len() / block * format.block_len();
            let (stored, expected) = fixture.split_at(fixture.len() - 4 * len);
            let expected: Vec<u32> = expected.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
            let bits: Vec<u32> = decoded(format, stored, len).into_iter().map(f32::to_bits).collect();
            assert_eq!(bits, expected, "{format}");
        }
    }

    #[test]
    #[should_panic(expected = "bytes of a q4_1 row of 64")]
    fn a_row_of_another_length_is_a_bug() {
        decoded(StorageFormat::Q4_1, &[0; 20], 64);
    }
}
