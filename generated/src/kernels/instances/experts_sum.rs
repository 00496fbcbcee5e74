//! Instances of `experts_sum`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// nemotron-3-super-120b-a12b.
pub const EXPERTS_SUM_BF16_BF16: Instance = instance!(
    "experts_sum_bf16_bf16", [name("rows_dtype", "bf16"), name("out_dtype", "bf16")], 0
);
/// bard-mla, deepseek-v3, gpt-oss-20b, mistral-small-4, mistral-small-4-nvfp4, qwen3.5-122b-a10b.
pub const EXPERTS_SUM_BF16_F32: Instance = instance!(
    "experts_sum_bf16_f32", [name("rows_dtype", "bf16"), name("out_dtype", "f32")], 0
);
/// nemotron-3-super-120b-a12b.
pub const EXPERTS_SUM_F32_BF16: Instance = instance!(
    "experts_sum_f32_bf16", [name("rows_dtype", "f32"), name("out_dtype", "bf16")], 0
);
/// bard-mla, deepseek-v3, gpt-oss-20b, mistral-small-4, mistral-small-4-nvfp4, qwen3.5-122b-a10b.
pub const EXPERTS_SUM_F32_F32: Instance = instance!(
    "experts_sum_f32_f32", [name("rows_dtype", "f32"), name("out_dtype", "f32")], 0
);
