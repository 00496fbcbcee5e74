//! Instances of `embedding`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const EMBEDDING_BF16: Instance = instance!(
    "embedding_bf16", [name("format", "bf16")], 0
);
/// gemma-3-270m, llama-3.1-8b, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const EMBEDDING_F16: Instance = instance!(
    "embedding_f16", [name("format", "f16")], 0
);
/// bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const EMBEDDING_F32: Instance = instance!(
    "embedding_f32", [name("format", "f32")], 0
);
/// deepseek-v3, mistral-small-4.
pub const EMBEDDING_FP8_E4M3: Instance = instance!(
    "embedding_fp8_e4m3", [name("format", "fp8_e4m3")], 0
);
/// gpt-oss-20b.
pub const EMBEDDING_MXFP4: Instance = instance!(
    "embedding_mxfp4", [name("format", "mxfp4")], 0
);
/// mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
pub const EMBEDDING_NVFP4: Instance = instance!(
    "embedding_nvfp4", [name("format", "nvfp4")], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const EMBEDDING_Q4_0: Instance = instance!(
    "embedding_q4_0", [name("format", "q4_0")], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const EMBEDDING_Q4_1: Instance = instance!(
    "embedding_q4_1", [name("format", "q4_1")], 0
);
/// gemma-3-270m.
pub const EMBEDDING_Q4_K: Instance = instance!(
    "embedding_q4_k", [name("format", "q4_k")], 0
);
/// gemma-3-270m.
pub const EMBEDDING_Q5_0: Instance = instance!(
    "embedding_q5_0", [name("format", "q5_0")], 0
);
/// gemma-3-270m.
pub const EMBEDDING_Q5_1: Instance = instance!(
    "embedding_q5_1", [name("format", "q5_1")], 0
);
/// gemma-3-270m.
pub const EMBEDDING_Q5_K: Instance = instance!(
    "embedding_q5_k", [name("format", "q5_k")], 0
);
/// gemma-3-270m.
pub const EMBEDDING_Q6_K: Instance = instance!(
    "embedding_q6_k", [name("format", "q6_k")], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const EMBEDDING_Q8_0: Instance = instance!(
    "embedding_q8_0", [name("format", "q8_0")], 0
);
