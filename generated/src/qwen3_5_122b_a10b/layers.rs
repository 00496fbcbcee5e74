//! qwen3.5-122b-a10b: which layers are what.
//! Generated from model-specs/qwen3.5-122b-a10b; edit the TOMLs there, then `cargo build`.

/// Layers that are `block_linear`.
pub const BLOCK_LINEAR_LAYERS: [usize; 36] = [
    0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24, 25, 26, 28, 29,
    30, 32, 33, 34, 36, 37, 38, 40, 41, 42, 44, 45, 46,
];
/// Layers that are `full`.
pub const FULL_LAYERS: [usize; 12] = [3, 7, 11, 15, 19, 23, 27, 31, 35, 39, 43, 47];

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `block_linear`
    BlockLinear,
    /// `full`
    Full,
}
/// For each layer, what it is and its index among its kind.
pub const PATTERN: [(Kind, usize); 48] = [
    (Kind::BlockLinear, 0),
    (Kind::BlockLinear, 1),
    (Kind::BlockLinear, 2),
    (Kind::Full, 0),
    (Kind::BlockLinear, 3),
    (Kind::BlockLinear, 4),
    (Kind::BlockLinear, 5),
    (Kind::Full, 1),
    (Kind::BlockLinear, 6),
    (Kind::BlockLinear, 7),
    (Kind::BlockLinear, 8),
    (Kind::Full, 2),
    (Kind::BlockLinear, 9),
    (Kind::BlockLinear, 10),
    (Kind::BlockLinear, 11),
    (Kind::Full, 3),
    (Kind::BlockLinear, 12),
    (Kind::BlockLinear, 13),
    (Kind::BlockLinear, 14),
    (Kind::Full, 4),
    (Kind::BlockLinear, 15),
    (Kind::BlockLinear, 16),
    (Kind::BlockLinear, 17),
    (Kind::Full, 5),
    (Kind::BlockLinear, 18),
    (Kind::BlockLinear, 19),
    (Kind::BlockLinear, 20),
    (Kind::Full, 6),
    (Kind::BlockLinear, 21),
    (Kind::BlockLinear, 22),
    (Kind::BlockLinear, 23),
    (Kind::Full, 7),
    (Kind::BlockLinear, 24),
    (Kind::BlockLinear, 25),
    (Kind::BlockLinear, 26),
    (Kind::Full, 8),
    (Kind::BlockLinear, 27),
    (Kind::BlockLinear, 28),
    (Kind::BlockLinear, 29),
    (Kind::Full, 9),
    (Kind::BlockLinear, 30),
    (Kind::BlockLinear, 31),
    (Kind::BlockLinear, 32),
    (Kind::Full, 10),
    (Kind::BlockLinear, 33),
    (Kind::BlockLinear, 34),
    (Kind::BlockLinear, 35),
    (Kind::Full, 11),
];
