//! Instances of `experts_down_many`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// bard-mla, deepseek-v3, gpt-oss-20b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
pub const EXPERTS_DOWN_MANY_BF16: Instance = instance!(
    "experts_down_many_bf16", [name("format", "bf16")], 98304
);
/// nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
pub const EXPERTS_DOWN_MANY_F16: Instance = instance!(
    "experts_down_many_f16", [name("format", "f16")], 98304
);
/// bard-mla, deepseek-v3, mistral-small-4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
pub const EXPERTS_DOWN_MANY_F32: Instance = instance!(
    "experts_down_many_f32", [name("format", "f32")], 98304
);
/// deepseek-v3, mistral-small-4.
pub const EXPERTS_DOWN_MANY_FP8_E4M3: Instance = instance!(
    "experts_down_many_fp8_e4m3", [name("format", "fp8_e4m3")], 98304
);
/// gpt-oss-20b.
pub const EXPERTS_DOWN_MANY_MXFP4: Instance = instance!(
    "experts_down_many_mxfp4", [name("format", "mxfp4")], 98304
);
/// mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
pub const EXPERTS_DOWN_MANY_NVFP4: Instance = instance!(
    "experts_down_many_nvfp4", [name("format", "nvfp4")], 98304
);
