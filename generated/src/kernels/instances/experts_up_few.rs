//! Instances of `experts_up_few`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// gpt-oss-20b.
pub const EXPERTS_UP_FEW_BF16_CLAMPED_SILU: Instance = instance!(
    "experts_up_few_bf16_clamped_silu", [name("format", "bf16"), name("form", "clamped"),
    name("act", "silu")], 0
);
/// bard-mla, deepseek-v3, mistral-small-4, mistral-small-4-nvfp4, qwen3.5-122b-a10b.
pub const EXPERTS_UP_FEW_BF16_GATED_SILU: Instance = instance!(
    "experts_up_few_bf16_gated_silu", [name("format", "bf16"), name("form", "gated"),
    name("act", "silu")], 0
);
/// nemotron-3-super-120b-a12b.
pub const EXPERTS_UP_FEW_BF16_PLAIN_RELU2: Instance = instance!(
    "experts_up_few_bf16_plain_relu2", [name("format", "bf16"), name("form", "plain"),
    name("act", "relu2")], 0
);
/// qwen3.5-122b-a10b.
pub const EXPERTS_UP_FEW_F16_GATED_SILU: Instance = instance!(
    "experts_up_few_f16_gated_silu", [name("format", "f16"), name("form", "gated"),
    name("act", "silu")], 0
);
/// nemotron-3-super-120b-a12b.
pub const EXPERTS_UP_FEW_F16_PLAIN_RELU2: Instance = instance!(
    "experts_up_few_f16_plain_relu2", [name("format", "f16"), name("form", "plain"),
    name("act", "relu2")], 0
);
/// bard-mla, deepseek-v3, mistral-small-4, qwen3.5-122b-a10b.
pub const EXPERTS_UP_FEW_F32_GATED_SILU: Instance = instance!(
    "experts_up_few_f32_gated_silu", [name("format", "f32"), name("form", "gated"),
    name("act", "silu")], 0
);
/// nemotron-3-super-120b-a12b.
pub const EXPERTS_UP_FEW_F32_PLAIN_RELU2: Instance = instance!(
    "experts_up_few_f32_plain_relu2", [name("format", "f32"), name("form", "plain"),
    name("act", "relu2")], 0
);
/// deepseek-v3, mistral-small-4.
pub const EXPERTS_UP_FEW_FP8_E4M3_GATED_SILU: Instance = instance!(
    "experts_up_few_fp8_e4m3_gated_silu", [name("format", "fp8_e4m3"), name("form",
    "gated"), name("act", "silu")], 0
);
/// gpt-oss-20b.
pub const EXPERTS_UP_FEW_MXFP4_CLAMPED_SILU: Instance = instance!(
    "experts_up_few_mxfp4_clamped_silu", [name("format", "mxfp4"), name("form",
    "clamped"), name("act", "silu")], 0
);
/// mistral-small-4-nvfp4, qwen3.5-122b-a10b.
pub const EXPERTS_UP_FEW_NVFP4_GATED_SILU: Instance = instance!(
    "experts_up_few_nvfp4_gated_silu", [name("format", "nvfp4"), name("form", "gated"),
    name("act", "silu")], 0
);
/// nemotron-3-super-120b-a12b.
pub const EXPERTS_UP_FEW_NVFP4_PLAIN_RELU2: Instance = instance!(
    "experts_up_few_nvfp4_plain_relu2", [name("format", "nvfp4"), name("form", "plain"),
    name("act", "relu2")], 0
);
