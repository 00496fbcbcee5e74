//! bard-mla: which layers are what.
//! Generated from model-specs/bard-mla; edit the TOMLs there, then `cargo build`.

use tenon_core::layers::layer_range;

/// Layers that are `block`.
pub const BLOCK_LAYERS: [usize; 6] = layer_range(0);
