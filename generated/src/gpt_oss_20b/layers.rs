//! gpt-oss-20b: which layers are what.
//! Generated from model-specs/gpt-oss-20b; edit the TOMLs there, then `cargo build`.

/// Layers that are `local`.
pub const LOCAL_LAYERS: [usize; 12] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22];
/// Layers that are `full`.
pub const FULL_LAYERS: [usize; 12] = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23];

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `local`
    Local,
    /// `full`
    Full,
}
/// For each layer, what it is and its index among its kind.
pub const PATTERN: [(Kind, usize); 24] = [
    (Kind::Local, 0),
    (Kind::Full, 0),
    (Kind::Local, 1),
    (Kind::Full, 1),
    (Kind::Local, 2),
    (Kind::Full, 2),
    (Kind::Local, 3),
    (Kind::Full, 3),
    (Kind::Local, 4),
    (Kind::Full, 4),
    (Kind::Local, 5),
    (Kind::Full, 5),
    (Kind::Local, 6),
    (Kind::Full, 6),
    (Kind::Local, 7),
    (Kind::Full, 7),
    (Kind::Local, 8),
    (Kind::Full, 8),
    (Kind::Local, 9),
    (Kind::Full, 9),
    (Kind::Local, 10),
    (Kind::Full, 10),
    (Kind::Local, 11),
    (Kind::Full, 11),
];
