//! Typed tensors, caches and CPU kernels, and the `Model` trait: what generated code is written against.

pub mod batch;
pub mod cache;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod dtype;
pub mod layers;
pub mod linear;
pub mod model;
pub mod moe;
pub mod rope;
pub mod rows;
pub mod scale;
pub mod state;
#[cfg(test)]
mod testing;
pub mod weights;

pub use tenon_formats::memory;
