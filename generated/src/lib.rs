//! Every model under model-specs/, compiled.
//! Generated from the specs; edit the TOMLs there, then `cargo build`. `TENON_MODELS=a,b` limits which are compiled in.

use tenon_core::model::ModelEntry;

/// gemma-3-270m: 268,098,176 parameters.
#[cfg(tenon_model = "gemma_3_270m")]
#[rustfmt::skip]
pub mod gemma_3_270m;

/// llama-3.1-8b: 8,030,261,248 parameters.
#[cfg(tenon_model = "llama_3_1_8b")]
#[rustfmt::skip]
pub mod llama_3_1_8b;

/// qwen3-0.6b: 596,049,920 parameters.
#[cfg(tenon_model = "qwen3_0_6b")]
#[rustfmt::skip]
pub mod qwen3_0_6b;

/// qwen3-8b: 8,190,735,360 parameters.
#[cfg(tenon_model = "qwen3_8b")]
#[rustfmt::skip]
pub mod qwen3_8b;

/// smollm2-135m-instruct: 134,515,008 parameters.
#[cfg(tenon_model = "smollm2_135m_instruct")]
#[rustfmt::skip]
pub mod smollm2_135m_instruct;

/// The models that are compiled in, in the order of their names.
pub const MODELS: &[&ModelEntry] = &[
    #[cfg(tenon_model = "gemma_3_270m")]
    &gemma_3_270m::ENTRY,
    #[cfg(tenon_model = "llama_3_1_8b")]
    &llama_3_1_8b::ENTRY,
    #[cfg(tenon_model = "qwen3_0_6b")]
    &qwen3_0_6b::ENTRY,
    #[cfg(tenon_model = "qwen3_8b")]
    &qwen3_8b::ENTRY,
    #[cfg(tenon_model = "smollm2_135m_instruct")]
    &smollm2_135m_instruct::ENTRY,
];
