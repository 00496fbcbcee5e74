//! smollm2-135m-instruct: which layers are what.
//! Generated from model-specs/smollm2-135m-instruct; edit the TOMLs there, then `cargo build`.

use tenon_core::layers::layer_range;

/// Layers that are `block`.
pub const BLOCK_LAYERS: [usize; 30] = layer_range(0);
