//! The kernels that the models of this crate launch on a GPU, each with typed arguments.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

/// x = act(x), in place.
pub mod act;
/// gate = act(gate) * up, in place.
pub mod act_mul;
/// x += y.
pub mod add;
/// x += bias, row by row.
pub mod add_bias;
/// The token with the largest logit, the lowest of equals.
pub mod argmax;
/// Causal attention of spans of one token over the paged cache, in parts of the context that the last thread block adds up.
pub mod attention_decode;
/// Causal attention of spans of several tokens over the paged cache: tiles of query rows, with or without a window, sinks and a soft cap.
pub mod attention_prefill;
/// Depthwise causal convolution, bias and silu over spans of one token; the last inputs stay in the state.
pub mod causal_conv_decode;
/// Depthwise causal convolution, bias and silu over spans of several tokens; the last inputs stay in the state.
pub mod causal_conv_prefill;
/// The gated delta rule over spans of one token: S = exp(g) S, S = S + beta (v - S k) k^T, y = S q.
pub mod delta_decode;
/// The gated delta rule over spans of several tokens, in chunks (arXiv 2412.06464, section 3.3).
pub mod delta_prefill;
/// A stored matrix as bf16, for a matrix product with many rows.
pub mod dequantise;
/// Rows of the embedding, dequantised.
pub mod embedding;
/// The pairs of tokens and experts sorted by expert, and tiles of at most 128 of one expert.
pub mod expert_tiles;
/// The last product of experts, for 16 tokens at most.
pub mod experts_down_few;
/// The last product of experts, for many tokens: tiles of the pairs sorted by expert.
pub mod experts_down_many;
/// For each token the sum of its experts' rows by weight, in the order of the routes.
pub mod experts_sum;
/// The first products of experts and what stands between the products, for 16 tokens at most.
pub mod experts_up_few;
/// The first products of experts and what stands between the products, for many tokens: tiles of the pairs sorted by expert.
pub mod experts_up_many;
/// RMS norm of y silu(z) in each group of channels, in place.
pub mod gated_group_norm;
/// RMS norm of each head, times silu(z), in place.
pub mod gated_head_norm;
/// The rows that want logits.
pub mod gather_logit_rows;
/// Writes keys and values to the paged cache, rounded to its dtype.
pub mod kv_append;
/// Norms latents, rotates their last elements, and writes both to the paged cache.
pub mod latent_append;
/// y = W x for a few rows.
pub mod linear;
/// y = act(G x) * (U x) for a few rows: two products and what joins them, in one launch.
pub mod linear_gated;
/// The recurrence of Mamba2 over spans of several tokens, in chunks (arXiv 2405.21060, section 6).
pub mod mamba2_scan;
/// The recurrence of Mamba2 over spans of one token: s = exp(d A) s + B d x, y = C s + D x.
pub mod mamba2_update;
/// Queries of latent attention move into the space of latents, K^T q per head; the rotated part stays as it is.
pub mod mla_absorb;
/// The parts that mla_decode left of each context become one output.
pub mod mla_combine;
/// Latent attention of spans of one token in absorbed form, the context in parts.
pub mod mla_decode;
/// Keys and values of every head from the latents of whole contexts: [K c, rotated part] and V c.
pub mod mla_expand;
/// Latent attention in expanded form: causal attention over keys and values that mla_expand has made.
pub mod mla_prefill_expanded;
/// What latent attention gathered becomes the output of each head, V o.
pub mod mla_up;
/// q *= 1 + beta ln(1 + floor(position / original)), in place.
pub mod query_scale;
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
/// Rotates the last elements of every head, in place.
pub mod rope_tail;
/// The experts of each token and their weights.
pub mod route;
/// A token drawn from the softmax of each row: temperature, then top_k, then top_p.
pub mod sample;
/// x *= factor.
pub mod scale;
/// x += sigmoid(gate) * y, with one gate per row.
pub mod sigmoid_gate_add;
/// x *= sigmoid(gate), in place.
pub mod sigmoid_mul;
/// Every instance, as it was compiled.
pub mod instances;
/// Products of weights and rows.
pub mod matmul;

pub use act::Act;
pub use act_mul::ActMul;
pub use add::Add;
pub use add_bias::AddBias;
pub use argmax::Argmax;
pub use attention_decode::AttentionDecode;
pub use attention_prefill::AttentionPrefill;
pub use causal_conv_decode::CausalConvDecode;
pub use causal_conv_prefill::CausalConvPrefill;
pub use delta_decode::DeltaDecode;
pub use delta_prefill::DeltaPrefill;
pub use dequantise::Dequantise;
pub use embedding::Embedding;
pub use expert_tiles::ExpertTiles;
pub use experts_down_few::ExpertsDownFew;
pub use experts_down_many::ExpertsDownMany;
pub use experts_sum::ExpertsSum;
pub use experts_up_few::ExpertsUpFew;
pub use experts_up_many::ExpertsUpMany;
pub use gated_group_norm::GatedGroupNorm;
pub use gated_head_norm::GatedHeadNorm;
pub use gather_logit_rows::GatherLogitRows;
pub use kv_append::KvAppend;
pub use latent_append::LatentAppend;
pub use linear::Linear;
pub use linear_gated::LinearGated;
pub use mamba2_scan::Mamba2Scan;
pub use mamba2_update::Mamba2Update;
pub use mla_absorb::MlaAbsorb;
pub use mla_combine::MlaCombine;
pub use mla_decode::MlaDecode;
pub use mla_expand::MlaExpand;
pub use mla_prefill_expanded::MlaPrefillExpanded;
pub use mla_up::MlaUp;
pub use query_scale::QueryScale;
pub use rms_norm::RmsNorm;
pub use rms_norm_add::RmsNormAdd;
pub use rms_norm_add_norm::RmsNormAddNorm;
pub use rope_angles::RopeAngles;
pub use rope_append::RopeAppend;
pub use rope_tail::RopeTail;
pub use route::Route;
pub use sample::Sample;
pub use scale::Scale;
pub use sigmoid_gate_add::SigmoidGateAdd;
pub use sigmoid_mul::SigmoidMul;
pub use matmul::Matmul;
