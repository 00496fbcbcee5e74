//! Element types of activations and caches, as sealed types: a dtype is part of a tensor's type, never a runtime flag.

use half::bf16;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for half::bf16 {}
    impl Sealed for super::F32 {}
    impl Sealed for super::Bf16 {}
}

/// Elements that [`Rows`](crate::rows::Rows) can hold.
pub trait Element: sealed::Sealed + Copy + Default + Send + Sync + 'static {}
impl Element for f32 {}
impl Element for bf16 {}

/// What one KV cache stores per element. Implemented by [`F32`] and [`Bf16`].
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

/// The name of a cache dtype, for options and reports. Choosing one at load picks the type that the model is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KvDtypeName {
    /// 4 bytes per element.
    F32,
    /// 2 bytes per element.
    Bf16,
}

impl KvDtypeName {
    /// Every dtype that a cache of this runtime can have.
    pub const ALL: [Self; 2] = [Self::F32, Self::Bf16];

    /// The spelling in MODEL.toml and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
        }
    }

    /// Bytes per element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::Bf16 => 2,
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
