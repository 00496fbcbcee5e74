//! gemma-3-270m: which layers are what.
//! Generated from model-specs/gemma-3-270m; edit the TOMLs there, then `cargo build`.

/// Layers that are `local`.
pub const LOCAL_LAYERS: [usize; 15] = [
    0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16,
];
/// Layers that are `full`.
pub const FULL_LAYERS: [usize; 3] = [5, 11, 17];

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `local`
    Local,
    /// `full`
    Full,
}
/// For each layer, what it is and its index among its kind.
pub const PATTERN: [(Kind, usize); 18] = [
    (Kind::Local, 0),
    (Kind::Local, 1),
    (Kind::Local, 2),
    (Kind::Local, 3),
    (Kind::Local, 4),
    (Kind::Full, 0),
    (Kind::Local, 5),
    (Kind::Local, 6),
    (Kind::Local, 7),
    (Kind::Local, 8),
    (Kind::Local, 9),
    (Kind::Full, 1),
    (Kind::Local, 10),
    (Kind::Local, 11),
    (Kind::Local, 12),
    (Kind::Local, 13),
    (Kind::Local, 14),
    (Kind::Full, 2),
];
