//! Instances of `linear`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_BF16_R1: Instance = instance!(
    "linear_bf16_r1", [name("format", "bf16"), number("rows", 1)], 0
);
/// bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_BF16_R16: Instance = instance!(
    "linear_bf16_r16", [name("format", "bf16"), number("rows", 16)], 0
);
/// bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_BF16_R2: Instance = instance!(
    "linear_bf16_r2", [name("format", "bf16"), number("rows", 2)], 0
);
/// bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_BF16_R4: Instance = instance!(
    "linear_bf16_r4", [name("format", "bf16"), number("rows", 4)], 0
);
/// bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_BF16_R8: Instance = instance!(
    "linear_bf16_r8", [name("format", "bf16"), number("rows", 8)], 0
);
/// gemma-3-270m, llama-3.1-8b, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_F16_R1: Instance = instance!(
    "linear_f16_r1", [name("format", "f16"), number("rows", 1)], 0
);
/// gemma-3-270m, llama-3.1-8b, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_F16_R16: Instance = instance!(
    "linear_f16_r16", [name("format", "f16"), number("rows", 16)], 0
);
/// gemma-3-270m, llama-3.1-8b, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_F16_R2: Instance = instance!(
    "linear_f16_r2", [name("format", "f16"), number("rows", 2)], 0
);
/// gemma-3-270m, llama-3.1-8b, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_F16_R4: Instance = instance!(
    "linear_f16_r4", [name("format", "f16"), number("rows", 4)], 0
);
/// gemma-3-270m, llama-3.1-8b, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_F16_R8: Instance = instance!(
    "linear_f16_r8", [name("format", "f16"), number("rows", 8)], 0
);
/// bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_F32_R1: Instance = instance!(
    "linear_f32_r1", [name("format", "f32"), number("rows", 1)], 0
);
/// bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_F32_R16: Instance = instance!(
    "linear_f32_r16", [name("format", "f32"), number("rows", 16)], 0
);
/// bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_F32_R2: Instance = instance!(
    "linear_f32_r2", [name("format", "f32"), number("rows", 2)], 0
);
/// bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_F32_R4: Instance = instance!(
    "linear_f32_r4", [name("format", "f32"), number("rows", 4)], 0
);
/// bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_F32_R8: Instance = instance!(
    "linear_f32_r8", [name("format", "f32"), number("rows", 8)], 0
);
/// deepseek-v3, mistral-small-4.
pub const LINEAR_FP8_E4M3_R1: Instance = instance!(
    "linear_fp8_e4m3_r1", [name("format", "fp8_e4m3"), number("rows", 1)], 0
);
/// deepseek-v3, mistral-small-4.
pub const LINEAR_FP8_E4M3_R16: Instance = instance!(
    "linear_fp8_e4m3_r16", [name("format", "fp8_e4m3"), number("rows", 16)], 0
);
/// deepseek-v3, mistral-small-4.
pub const LINEAR_FP8_E4M3_R2: Instance = instance!(
    "linear_fp8_e4m3_r2", [name("format", "fp8_e4m3"), number("rows", 2)], 0
);
/// deepseek-v3, mistral-small-4.
pub const LINEAR_FP8_E4M3_R4: Instance = instance!(
    "linear_fp8_e4m3_r4", [name("format", "fp8_e4m3"), number("rows", 4)], 0
);
/// deepseek-v3, mistral-small-4.
pub const LINEAR_FP8_E4M3_R8: Instance = instance!(
    "linear_fp8_e4m3_r8", [name("format", "fp8_e4m3"), number("rows", 8)], 0
);
/// gpt-oss-20b.
pub const LINEAR_MXFP4_R1: Instance = instance!(
    "linear_mxfp4_r1", [name("format", "mxfp4"), number("rows", 1)], 0
);
/// gpt-oss-20b.
pub const LINEAR_MXFP4_R16: Instance = instance!(
    "linear_mxfp4_r16", [name("format", "mxfp4"), number("rows", 16)], 0
);
/// gpt-oss-20b.
pub const LINEAR_MXFP4_R2: Instance = instance!(
    "linear_mxfp4_r2", [name("format", "mxfp4"), number("rows", 2)], 0
);
/// gpt-oss-20b.
pub const LINEAR_MXFP4_R4: Instance = instance!(
    "linear_mxfp4_r4", [name("format", "mxfp4"), number("rows", 4)], 0
);
/// gpt-oss-20b.
pub const LINEAR_MXFP4_R8: Instance = instance!(
    "linear_mxfp4_r8", [name("format", "mxfp4"), number("rows", 8)], 0
);
/// mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
pub const LINEAR_NVFP4_R1: Instance = instance!(
    "linear_nvfp4_r1", [name("format", "nvfp4"), number("rows", 1)], 0
);
/// mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
pub const LINEAR_NVFP4_R16: Instance = instance!(
    "linear_nvfp4_r16", [name("format", "nvfp4"), number("rows", 16)], 0
);
/// mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
pub const LINEAR_NVFP4_R2: Instance = instance!(
    "linear_nvfp4_r2", [name("format", "nvfp4"), number("rows", 2)], 0
);
/// mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
pub const LINEAR_NVFP4_R4: Instance = instance!(
    "linear_nvfp4_r4", [name("format", "nvfp4"), number("rows", 4)], 0
);
/// mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
pub const LINEAR_NVFP4_R8: Instance = instance!(
    "linear_nvfp4_r8", [name("format", "nvfp4"), number("rows", 8)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_0_R1: Instance = instance!(
    "linear_q4_0_r1", [name("format", "q4_0"), number("rows", 1)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_0_R16: Instance = instance!(
    "linear_q4_0_r16", [name("format", "q4_0"), number("rows", 16)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_0_R2: Instance = instance!(
    "linear_q4_0_r2", [name("format", "q4_0"), number("rows", 2)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_0_R4: Instance = instance!(
    "linear_q4_0_r4", [name("format", "q4_0"), number("rows", 4)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_0_R8: Instance = instance!(
    "linear_q4_0_r8", [name("format", "q4_0"), number("rows", 8)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_1_R1: Instance = instance!(
    "linear_q4_1_r1", [name("format", "q4_1"), number("rows", 1)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_1_R16: Instance = instance!(
    "linear_q4_1_r16", [name("format", "q4_1"), number("rows", 16)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_1_R2: Instance = instance!(
    "linear_q4_1_r2", [name("format", "q4_1"), number("rows", 2)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_1_R4: Instance = instance!(
    "linear_q4_1_r4", [name("format", "q4_1"), number("rows", 4)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_1_R8: Instance = instance!(
    "linear_q4_1_r8", [name("format", "q4_1"), number("rows", 8)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q4_K_R1: Instance = instance!(
    "linear_q4_k_r1", [name("format", "q4_k"), number("rows", 1)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q4_K_R16: Instance = instance!(
    "linear_q4_k_r16", [name("format", "q4_k"), number("rows", 16)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q4_K_R2: Instance = instance!(
    "linear_q4_k_r2", [name("format", "q4_k"), number("rows", 2)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q4_K_R4: Instance = instance!(
    "linear_q4_k_r4", [name("format", "q4_k"), number("rows", 4)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q4_K_R8: Instance = instance!(
    "linear_q4_k_r8", [name("format", "q4_k"), number("rows", 8)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_0_R1: Instance = instance!(
    "linear_q5_0_r1", [name("format", "q5_0"), number("rows", 1)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_0_R16: Instance = instance!(
    "linear_q5_0_r16", [name("format", "q5_0"), number("rows", 16)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_0_R2: Instance = instance!(
    "linear_q5_0_r2", [name("format", "q5_0"), number("rows", 2)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_0_R4: Instance = instance!(
    "linear_q5_0_r4", [name("format", "q5_0"), number("rows", 4)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_0_R8: Instance = instance!(
    "linear_q5_0_r8", [name("format", "q5_0"), number("rows", 8)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_1_R1: Instance = instance!(
    "linear_q5_1_r1", [name("format", "q5_1"), number("rows", 1)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_1_R16: Instance = instance!(
    "linear_q5_1_r16", [name("format", "q5_1"), number("rows", 16)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_1_R2: Instance = instance!(
    "linear_q5_1_r2", [name("format", "q5_1"), number("rows", 2)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_1_R4: Instance = instance!(
    "linear_q5_1_r4", [name("format", "q5_1"), number("rows", 4)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_1_R8: Instance = instance!(
    "linear_q5_1_r8", [name("format", "q5_1"), number("rows", 8)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_K_R1: Instance = instance!(
    "linear_q5_k_r1", [name("format", "q5_k"), number("rows", 1)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_K_R16: Instance = instance!(
    "linear_q5_k_r16", [name("format", "q5_k"), number("rows", 16)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_K_R2: Instance = instance!(
    "linear_q5_k_r2", [name("format", "q5_k"), number("rows", 2)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_K_R4: Instance = instance!(
    "linear_q5_k_r4", [name("format", "q5_k"), number("rows", 4)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q5_K_R8: Instance = instance!(
    "linear_q5_k_r8", [name("format", "q5_k"), number("rows", 8)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q6_K_R1: Instance = instance!(
    "linear_q6_k_r1", [name("format", "q6_k"), number("rows", 1)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q6_K_R16: Instance = instance!(
    "linear_q6_k_r16", [name("format", "q6_k"), number("rows", 16)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q6_K_R2: Instance = instance!(
    "linear_q6_k_r2", [name("format", "q6_k"), number("rows", 2)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q6_K_R4: Instance = instance!(
    "linear_q6_k_r4", [name("format", "q6_k"), number("rows", 4)], 0
);
/// gemma-3-270m.
pub const LINEAR_Q6_K_R8: Instance = instance!(
    "linear_q6_k_r8", [name("format", "q6_k"), number("rows", 8)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q8_0_R1: Instance = instance!(
    "linear_q8_0_r1", [name("format", "q8_0"), number("rows", 1)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q8_0_R16: Instance = instance!(
    "linear_q8_0_r16", [name("format", "q8_0"), number("rows", 16)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q8_0_R2: Instance = instance!(
    "linear_q8_0_r2", [name("format", "q8_0"), number("rows", 2)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q8_0_R4: Instance = instance!(
    "linear_q8_0_r4", [name("format", "q8_0"), number("rows", 4)], 0
);
/// gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q8_0_R8: Instance = instance!(
    "linear_q8_0_r8", [name("format", "q8_0"), number("rows", 8)], 0
);
