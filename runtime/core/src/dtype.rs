//! Element types of activations and caches, as sealed types: a dtype is part of a tensor's type, never a runtime flag.

use half::bf16;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for half::bf16 {}
    impl Sealed for super::E4m3 {}
    impl Sealed for super::F32 {}
    impl Sealed for super::Bf16 {}
    impl Sealed for super::Fp8E4m3 {}
}

/// Elements that [`Rows`](crate::rows::Rows) can hold.
pub trait Element: sealed::Sealed + Copy + Default + Send + Sync + 'static {}
impl Element for f32 {}
impl Element for bf16 {}
impl Element for E4m3 {}

/// What one KV cache stores per element. Implemented by [`F32`], [`Bf16`] and [`Fp8E4m3`].
pub trait KvDtype: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// The stored element.
    type Stored: Element;
    /// The name of this dtype in specs and on the command line.
    const NAME: KvDtypeName;
    /// Rounds to the stored precision (to nearest, ties to even).
    fn store(value: f32) -> Self::Stored;
    /// Widens to f32, exactly.
    fn load(stored: Self::Stored) -> f32;
    /// Widens a slice: in `room`, which has at least its length, or in place where nothing is to be done.
    fn widen<'a>(stored: &'a [Self::Stored], room: &'a mut [f32]) -> &'a [f32];
}

/// A cache of 32-bit floats.
#[derive(Clone, Copy, Debug, Default)]
pub struct F32;
/// A cache of bfloat16: 8 exponent bits, 8 significant bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bf16;
/// A cache of 8-bit floats: 4 exponent bits, 4 significant bits, no infinities. What is larger than 448 is stored as 448.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fp8E4m3;

impl KvDtype for F32 {
    type Stored = f32;
    const NAME: KvDtypeName = KvDtypeName::F32;
    #[inline(always)]
    fn store(value: f32) -> f32 {
        value
    }
    #[inline(always)]
    fn load(stored: f32) -> f32 {
        stored
    }
    #[inline(always)]
    fn widen<'a>(stored: &'a [f32], _: &'a mut [f32]) -> &'a [f32] {
        stored
    }
}

impl KvDtype for Bf16 {
    type Stored = bf16;
    const NAME: KvDtypeName = KvDtypeName::Bf16;
    #[inline(always)]
    fn store(value: f32) -> bf16 {
        bf16::from_f32(value)
    }
    #[inline(always)]
    fn load(stored: bf16) -> f32 {
        stored.to_f32()
    }
    #[inline(always)]
    fn widen<'a>(stored: &'a [bf16], room: &'a mut [f32]) -> &'a [f32] {
        let room = &mut room[..stored.len()];
        for (wide, stored) in room.iter_mut().zip(stored) {
            // Not `to_f32`, whose test for NaN keeps LLVM from vectorising.
            *wide = f32::from_bits(u32::from(stored.to_bits()) << 16);
        }
        room
    }
}

/// The bits of an 8-bit float: a sign, 4 bits of exponent with bias 7, 3 bits of fraction (`float8_e4m3fn`). All ones but the sign
/// are NaN, and there are no infinities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct E4m3(u8);

/// What is between two powers of two under `2^-6` is no longer spaced by the exponent, but by `2^-9`.
const SMALLEST_NORMAL: f32 = 1.0 / 64.0;
/// The f32 exponent bits of `2^-6`, shifted down to the last fraction bit that is kept, less one: the exponent field of a
/// stored number begins at 1.
const EXPONENT_OFFSET: u32 = (127 - 7) << 3;

impl E4m3 {
    /// The largest number.
    pub const MAX: f32 = 448.0;

    /// The number with these bits.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The bits.
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// The nearest number, on a tie the one whose last bit is 0; beyond [`E4m3::MAX`], infinities included, that. NaN stays NaN.
    pub const fn from_f32(value: f32) -> Self {
        let sign = ((value.to_bits() >> 31) as u8) << 7;
        let magnitude = value.abs();
        if magnitude.is_nan() {
            return Self(sign | 0x7f);
        }
        if magnitude >= Self::MAX {
            return Self(sign | 0x7e);
        }
        if magnitude < SMALLEST_NORMAL {
            // 2^14 has a spacing of 2^-9, so the addition rounds to a multiple of that; the low bits then count them.
            return Self(sign | (magnitude + 16_384.0).to_bits() as u8);
        }
        let bits = magnitude.to_bits();
        let rounded = (bits + 0x7_ffff + (bits >> 20 & 1)) >> 20;
        Self(sign | (rounded - EXPONENT_OFFSET) as u8)
    }

    /// The number as f32, exactly.
    pub fn to_f32(self) -> f32 {
        WIDE[self.0 as usize]
    }
}

/// Every number of [`E4m3`] as f32.
static WIDE: [f32; 256] = {
    let mut wide = [0.0; 256];
    let mut bits = 0;
    while bits < 256 {
        let (exponent, fraction) = (bits as u32 >> 3 & 15, bits as u32 & 7);
        let magnitude = if bits & 0x7f == 0x7f {
            f32::NAN
        } else if exponent == 0 {
            fraction as f32 / 512.0
        } else {
            f32::from_bits((exponent + 120) << 23 | fraction << 20)
        };
        wide[bits] = if bits >= 128 { -magnitude } else { magnitude };
        bits += 1;
    }
    wide
};

impl KvDtype for Fp8E4m3 {
    type Stored = E4m3;
    const NAME: KvDtypeName = KvDtypeName::Fp8E4m3;
    #[inline(always)]
    fn store(value: f32) -> E4m3 {
        E4m3::from_f32(value)
    }
    #[inline(always)]
    fn load(stored: E4m3) -> f32 {
        stored.to_f32()
    }
    #[inline(always)]
    fn widen<'a>(stored: &'a [E4m3], room: &'a mut [f32]) -> &'a [f32] {
        let room = &mut room[..stored.len()];
        for (wide, stored) in room.iter_mut().zip(stored) {
            *wide = WIDE[stored.0 as usize];
        }
        room
    }
}

/// The name of a cache dtype, for options and reports. Choosing one at load picks the type that the model is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KvDtypeName {
    /// 4 bytes per element.
    F32,
    /// 2 bytes per element.
    Bf16,
    /// 1 byte per element.
    Fp8E4m3,
}

impl KvDtypeName {
    /// Every dtype that a cache of this runtime can have.
    pub const ALL: [Self; 3] = [Self::F32, Self::Bf16, Self::Fp8E4m3];

    /// The spelling in MODEL.toml and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::Fp8E4m3 => "fp8_e4m3",
        }
    }

    /// Bytes per element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::Bf16 => 2,
            Self::Fp8E4m3 => 1,
        }
    }

    /// The dtype with this spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|d| d.as_str() == text)
    }
}

impl std::fmt::Display for KvDtypeName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every finite non-negative number, by its definition, in rising order of bits.
    fn numbers() -> Vec<f64> {
        let number = |bits: i32| match (bits >> 3, bits & 7) {
            (0, fraction) => f64::from(fraction) * 2f64.powi(-9),
            (exponent, fraction) => (1.0 + f64::from(fraction) / 8.0) * 2f64.powi(exponent - 7),
        };
        (0..0x7f).map(number).collect()
    }

    #[test]
    fn e4m3_numbers_are_those_of_the_format_and_are_kept() {
        for (bits, exact) in (0..).zip(numbers()) {
            for (bits, exact) in [(bits, exact), (bits | 0x80, -exact)] {
                let wide = E4m3::from_bits(bits).to_f32();
                assert_eq!((f64::from(wide), wide.is_sign_negative()), (exact, bits >= 0x80));
                assert_eq!(E4m3::from_f32(wide).to_bits(), bits);
            }
        }
        assert_eq!(numbers().last(), Some(&448.0));
        for bits in [0x7f, 0xff] {
            assert!(E4m3::from_bits(bits).to_f32().is_nan());
            let mut room = [0.0];
            assert!(Fp8E4m3::widen(&[E4m3::from_bits(bits)], &mut room)[0].is_nan());
        }
        assert!(E4m3::from_f32(f32::NAN).to_f32().is_nan() && E4m3::from_f32(-f32::NAN).to_f32().is_nan());
    }

    /// Between two neighbours the nearer one wins, at the middle the one with an even last bit, and beyond the last there is only
    /// that.
    #[test]
    fn e4m3_rounds_to_nearest_ties_to_even_and_saturates() {
        let numbers = numbers();
        for (bits, pair) in numbers.windows(2).enumerate() {
            let (low, middle) = (pair[0] as f32, ((pair[0] + pair[1]) / 2.0) as f32);
            let even = if bits % 2 == 0 { bits } else { bits + 1 } as u8;
            for (value, expected) in [
                (low.next_up(), bits as u8),
                (middle.next_down(), bits as u8),
                (middle, even),
                (middle.next_up(), bits as u8 + 1),
                ((pair[1] as f32).next_down(), bits as u8 + 1),
            ] {
                assert_eq!(E4m3::from_f32(value).to_bits(), expected, "{value}");
                assert_eq!(E4m3::from_f32(-value).to_bits(), expected | 0x80, "-{value}");
            }
        }
        for large in [448.0, 449.0, 464.0, 480.0, 1e30, f32::INFINITY] {
            assert_eq!(E4m3::from_f32(large).to_f32(), 448.0);
            assert_eq!(E4m3::from_f32(-large).to_f32(), -448.0);
        }
        assert_eq!(E4m3::from_f32(-0.0).to_bits(), 0x80);
        assert_eq!(E4m3::from_f32(f32::MIN_POSITIVE).to_bits(), 0);
    }

    #[test]
    fn names_and_sizes() {
        for name in KvDtypeName::ALL {
            assert_eq!(KvDtypeName::parse(name.as_str()), Some(name));
        }
        assert_eq!((KvDtypeName::Fp8E4m3.as_str(), KvDtypeName::Fp8E4m3.bytes()), ("fp8_e4m3", 1));
        let sizes = [size_of::<f32>(), size_of::<bf16>(), size_of::<E4m3>()];
        assert_eq!(KvDtypeName::ALL.map(KvDtypeName::bytes), sizes);
    }
}
