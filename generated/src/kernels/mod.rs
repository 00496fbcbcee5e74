//! The kernels that the models of this crate launch on a GPU, each with typed arguments.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

/// gate = act(gate) * up, in place.
pub mod act_mul;
/// The token with the largest logit, the lowest of equals.
pub mod argmax;
/// Causal attention of spans of one token over the paged cache, in parts of the context that the last thread block adds up.
pub mod attention_decode;
/// Causal attention of spans of several tokens over the paged cache: tiles of query rows, with or without a window, sinks and a soft cap.
pub mod attention_prefill;
/// A stored matrix as bf16, for a matrix product with many rows.
pub mod dequantise;
/// Rows of the embedding, dequantised.
pub mod embedding;
/// The rows that want logits.
pub mod gather_logit_rows;
/// y = W x for a few rows.
pub mod linear;
/// y = act(G x) * (U x) for a few rows: two products and what joins them, in one launch.
pub mod linear_gated;
/// x / sqrt(mean(x^2) + eps) * weight, row by row.
pub mod rms_norm;
/// x += y / sqrt(mean(y^2) + eps) * weight, row by row: the second norm of a sandwich.
pub mod rms_norm_add;
/// x += y / sqrt(mean(y^2) + eps) * weight, then the norm of x that the next sublayer reads.
pub mod rms_norm_add_norm;
/// Cosines and sines of the positions of a step.
pub mod rope_angles;
/// Norms and rotates the heads of queries and keys, and writes keys and values to the paged cache.
pub mod rope_append;
/// A token drawn from the softmax of each row: temperature, then top_k, then top_p.
pub mod sample;
/// x *= factor.
pub mod scale;
/// Every instance, as it was compiled.
pub mod instances;
/// Products of weights and rows.
pub mod matmul;

pub use act_mul::ActMul;
pub use argmax::Argmax;
pub use attention_decode::AttentionDecode;
pub use attention_prefill::AttentionPrefill;
pub use dequantise::Dequantise;
pub use embedding::Embedding;
pub use gather_logit_rows::GatherLogitRows;
pub use linear::Linear;
pub use linear_gated::LinearGated;
pub use rms_norm::RmsNorm;
pub use rms_norm_add::RmsNormAdd;
pub use rms_norm_add_norm::RmsNormAddNorm;
pub use rope_angles::RopeAngles;
pub use rope_append::RopeAppend;
pub use sample::Sample;
pub use scale::Scale;
pub use matmul::Matmul;
