//! Every model under model-specs/, compiled.
//! Generated from the specs; edit the TOMLs there, then `cargo build`. `TENON_MODELS=a,b` limits which are compiled in.

use tenon_core::model::ModelEntry;

/// The kernels that models launch on a GPU.
#[cfg(feature = "cuda")]
#[rustfmt::skip]
pub mod kernels;

/// bard-mla: 2,674,560 parameters.
#[cfg(tenon_model = "bard_mla")]
#[rustfmt::skip]
pub mod bard_mla;

/// deepseek-v3: 671,026,404,352 parameters.
#[cfg(tenon_model = "deepseek_v3")]
#[rustfmt::skip]
pub mod deepseek_v3;

/// gemma-3-270m: 268,098,176 parameters.
#[cfg(tenon_model = "gemma_3_270m")]
#[rustfmt::skip]
pub mod gemma_3_270m;

/// gpt-oss-20b: 20,914,757,184 parameters.
#[cfg(tenon_model = "gpt_oss_20b")]
#[rustfmt::skip]
pub mod gpt_oss_20b;

/// llama-3.1-8b: 8,030,261,248 parameters.
#[cfg(tenon_model = "llama_3_1_8b")]
#[rustfmt::skip]
pub mod llama_3_1_8b;

/// mistral-small-4: 118,972,826,624 parameters.
#[cfg(tenon_model = "mistral_small_4")]
#[rustfmt::skip]
pub mod mistral_small_4;

/// mistral-small-4-nvfp4: 118,972,826,624 parameters.
#[cfg(tenon_model = "mistral_small_4_nvfp4")]
#[rustfmt::skip]
pub mod mistral_small_4_nvfp4;

/// nemotron-3-super-120b-a12b: 120,668,687,360 parameters.
#[cfg(tenon_model = "nemotron_3_super_120b_a12b")]
#[rustfmt::skip]
pub mod nemotron_3_super_120b_a12b;

/// qwen3-0.6b: 596,049,920 parameters.
#[cfg(tenon_model = "qwen3_0_6b")]
#[rustfmt::skip]
pub mod qwen3_0_6b;

/// qwen3-8b: 8,190,735,360 parameters.
#[cfg(tenon_model = "qwen3_8b")]
#[rustfmt::skip]
pub mod qwen3_8b;

/// qwen3.5-122b-a10b: 122,111,526,912 parameters.
#[cfg(tenon_model = "qwen3_5_122b_a10b")]
#[rustfmt::skip]
pub mod qwen3_5_122b_a10b;

/// smollm2-135m-instruct: 134,515,008 parameters.
#[cfg(tenon_model = "smollm2_135m_instruct")]
#[rustfmt::skip]
pub mod smollm2_135m_instruct;

/// The models that are compiled in, in the order of their names.
pub const MODELS: &[&ModelEntry] = &[
    #[cfg(tenon_model = "bard_mla")]
    &bard_mla::ENTRY,
    #[cfg(tenon_model = "deepseek_v3")]
    &deepseek_v3::ENTRY,
    #[cfg(tenon_model = "gemma_3_270m")]
    &gemma_3_270m::ENTRY,
    #[cfg(tenon_model = "gpt_oss_20b")]
    &gpt_oss_20b::ENTRY,
    #[cfg(tenon_model = "llama_3_1_8b")]
    &llama_3_1_8b::ENTRY,
    #[cfg(tenon_model = "mistral_small_4")]
    &mistral_small_4::ENTRY,
    #[cfg(tenon_model = "mistral_small_4_nvfp4")]
    &mistral_small_4_nvfp4::ENTRY,
    #[cfg(tenon_model = "nemotron_3_super_120b_a12b")]
    &nemotron_3_super_120b_a12b::ENTRY,
    #[cfg(tenon_model = "qwen3_0_6b")]
    &qwen3_0_6b::ENTRY,
    #[cfg(tenon_model = "qwen3_8b")]
    &qwen3_8b::ENTRY,
    #[cfg(tenon_model = "qwen3_5_122b_a10b")]
    &qwen3_5_122b_a10b::ENTRY,
    #[cfg(tenon_model = "smollm2_135m_instruct")]
    &smollm2_135m_instruct::ENTRY,
];
