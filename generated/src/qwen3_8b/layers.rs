//! qwen3-8b: which layers are what.
//! Generated from model-specs/qwen3-8b; edit the TOMLs there, then `cargo build`.

use tenon_core::layers::layer_range;

/// Layers that are `block`.
pub const BLOCK_LAYERS: [usize; 36] = layer_range(0);
