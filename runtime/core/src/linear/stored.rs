//! Where the quants of a stored block lie, and the packed scales of groups: the `block_*` structs of ggml, one element at a time;
//! and the small floats of the OCP formats.

/// Twice the values of E2M1, as signed bytes: sign, two bits of exponent, one of mantissa.
pub(super) const E2M1_TWICE: [u8; 16] = {
    let twice = [0i8, 1, 2, 3, 4, 6, 8, 12];
    let mut table = [0; 16];
    let mut i = 0;
    while i < 8 {
        table[i] = twice[i] as u8;
        table[8 + i] = -twice[i] as u8;
        i += 1;
    }
    table
};

/// The value of E4M3: sign, four bits of exponent with bias 7, three of mantissa; no infinities, and NaN where all bits but the
/// sign are set.
pub(super) fn e4m3(byte: u8) -> f32 {
    let (exponent, mantissa) = (i32::from(byte >> 3 & 15), f32::from(byte & 7));
    let magnitude = match exponent {
        _ if byte & 0x7f == 0x7f => f32::NAN,
        0 => mantissa * 2f32.powi(-9),
        _ => (8.0 + mantissa) * 2f32.powi(exponent - 10),
    };
    if byte & 0x80 == 0 { magnitude } else { -magnitude }
}

/// The value of E2M1 in the low bits of a byte.
pub(super) fn e2m1(nibble: u8) -> f32 {
    0.5 * f32::from(E2M1_TWICE[usize::from(nibble & 15)] as i8)
}

/// `2^(s - 127)`, and 0 where that is under `2^-124`.
pub(super) fn power_of_two(s: u8) -> f32 {
    if s < 3 { 0.0 } else { f32::from_bits(u32::from(s) << 23) }
}

/// Element `k` of nibbles, of which the low one of a byte comes first.
pub(super) fn neighbours(quants: &[u8], k: usize) -> u8 {
    quants[k / 2] >> (4 * (k % 2)) & 15
}

/// Element `k` of 32 in nibbles: low nibbles are the first half of the block, high nibbles the second.
pub(super) fn q4(quants: &[u8], k: usize) -> u8 {
    if k < 16 { quants[k] & 15 } else { quants[k - 16] >> 4 }
}

/// Element `k` of 32: its highest bit is bit `k` of a 32-bit word, the others are in nibbles after that.
pub(super) fn q5(quants: &[u8], k: usize) -> u8 {
    q4(&quants[4..], k) | (quants[k / 8] >> (k % 8) & 1) << 4
}

/// Element `k` of 256 in nibbles: every 32 bytes hold 64 elements, of which the first 32 are the low nibbles.
pub(super) fn q4_k(quants: &[u8], k: usize) -> u8 {
    quants[32 * (k / 64) + k % 32] >> (4 * (k / 32 % 2)) & 15
}

/// Element `k` of 256: its highest bit is bit `k / 32` of one of 32 bytes, the others are in nibbles after that.
pub(super) fn q5_k(quants: &[u8], k: usize) -> u8 {
    q4_k(&quants[32..], k) | (quants[k % 32] >> (k / 32) & 1) << 4
}

/// Element `k` of 256 in 128 bytes of nibbles and 64 bytes of pairs of bits after that. A half of 128 elements has 64 bytes of
/// nibbles, the low ones before the high ones, and 32 bytes of pairs, of which each pair serves 32 elements.
pub(super) fn q6_k(quants: &[u8], k: usize) -> u8 {
    let (low, high) = quants.split_at(128);
    let (half, quarter, l) = (k / 128, k / 32 % 4, k % 32);
    let low = low[64 * half + 32 * (quarter % 2) + l] >> (4 * (quarter / 2)) & 15;
    low | (high[32 * half + l] >> (2 * quarter) & 3) << 4
}

/// The 6-bit scale and minimum of group `g` of 8 in the 12 bytes of a block that hold them all (`get_scale_min_k4`).
pub(super) fn scale_and_minimum(scales: &[u8], g: usize) -> (u8, u8) {
    if g < 4 {
        return (scales[g] & 63, scales[g + 4] & 63);
    }
    let (scale, minimum) = (scales[g + 4] & 15, scales[g + 4] >> 4);
    (scale | scales[g - 4] >> 6 << 4, minimum | scales[g] >> 6 << 4)
}
