//! deepseek-v3: which layers are what.
//! Generated from model-specs/deepseek-v3; edit the TOMLs there, then `cargo build`.

use tenon_core::layers::layer_range;

/// Layers that are `dense`.
pub const DENSE_LAYERS: [usize; 3] = layer_range(0);
/// Layers that are `sparse`.
pub const SPARSE_LAYERS: [usize; 58] = layer_range(3);
