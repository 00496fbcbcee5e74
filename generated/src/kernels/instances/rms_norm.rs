//! Instances of `rms_norm`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// mistral-small-4, mistral-small-4-nvfp4.
pub const RMS_NORM_BF16_D1024: Instance = instance!(
    "rms_norm_bf16_d1024", [name("x_dtype", "bf16"), number("dim", 1024)], 0
);
/// deepseek-v3.
pub const RMS_NORM_BF16_D1536: Instance = instance!(
    "rms_norm_bf16_d1536", [name("x_dtype", "bf16"), number("dim", 1536)], 0
);
/// bard-mla.
pub const RMS_NORM_BF16_D96: Instance = instance!(
    "rms_norm_bf16_d96", [name("x_dtype", "bf16"), number("dim", 96)], 0
);
/// qwen3-0.6b.
pub const RMS_NORM_F32_D1024: Instance = instance!(
    "rms_norm_f32_d1024", [name("x_dtype", "f32"), number("dim", 1024)], 0
);
/// bard-mla.
pub const RMS_NORM_F32_D192: Instance = instance!(
    "rms_norm_f32_d192", [name("x_dtype", "f32"), number("dim", 192)], 0
);
/// gpt-oss-20b.
pub const RMS_NORM_F32_D2880: Instance = instance!(
    "rms_norm_f32_d2880", [name("x_dtype", "f32"), number("dim", 2880)], 0
);
/// qwen3.5-122b-a10b.
pub const RMS_NORM_F32_D3072: Instance = instance!(
    "rms_norm_f32_d3072", [name("x_dtype", "f32"), number("dim", 3072)], 0
);
/// llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-8b.
pub const RMS_NORM_F32_D4096: Instance = instance!(
    "rms_norm_f32_d4096", [name("x_dtype", "f32"), number("dim", 4096)], 0
);
/// smollm2-135m-instruct.
pub const RMS_NORM_F32_D576: Instance = instance!(
    "rms_norm_f32_d576", [name("x_dtype", "f32"), number("dim", 576)], 0
);
/// gemma-3-270m.
pub const RMS_NORM_F32_D640: Instance = instance!(
    "rms_norm_f32_d640", [name("x_dtype", "f32"), number("dim", 640)], 0
);
/// deepseek-v3.
pub const RMS_NORM_F32_D7168: Instance = instance!(
    "rms_norm_f32_d7168", [name("x_dtype", "f32"), number("dim", 7168)], 0
);
