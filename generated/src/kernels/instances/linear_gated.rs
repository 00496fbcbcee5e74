//! Instances of `linear_gated`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// gemma-3-270m.
pub const LINEAR_GATED_BF16_R16_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_bf16_r16_gelu_pytorch_tanh", [name("format", "bf16"), number("rows",
    16), name("act", "gelu_pytorch_tanh")], 0
);
/// bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_BF16_R16_SILU: Instance = instance!(
    "linear_gated_bf16_r16_silu", [name("format", "bf16"), number("rows", 16),
    name("act", "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_BF16_R1_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_bf16_r1_gelu_pytorch_tanh", [name("format", "bf16"), number("rows", 1),
    name("act", "gelu_pytorch_tanh")], 0
);
/// bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_BF16_R1_SILU: Instance = instance!(
    "linear_gated_bf16_r1_silu", [name("format", "bf16"), number("rows", 1), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_BF16_R2_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_bf16_r2_gelu_pytorch_tanh", [name("format", "bf16"), number("rows", 2),
    name("act", "gelu_pytorch_tanh")], 0
);
/// bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_BF16_R2_SILU: Instance = instance!(
    "linear_gated_bf16_r2_silu", [name("format", "bf16"), number("rows", 2), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_BF16_R4_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_bf16_r4_gelu_pytorch_tanh", [name("format", "bf16"), number("rows", 4),
    name("act", "gelu_pytorch_tanh")], 0
);
/// bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_BF16_R4_SILU: Instance = instance!(
    "linear_gated_bf16_r4_silu", [name("format", "bf16"), number("rows", 4), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_BF16_R8_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_bf16_r8_gelu_pytorch_tanh", [name("format", "bf16"), number("rows", 8),
    name("act", "gelu_pytorch_tanh")], 0
);
/// bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_BF16_R8_SILU: Instance = instance!(
    "linear_gated_bf16_r8_silu", [name("format", "bf16"), number("rows", 8), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_F16_R16_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_f16_r16_gelu_pytorch_tanh", [name("format", "f16"), number("rows", 16),
    name("act", "gelu_pytorch_tanh")], 0
);
/// llama-3.1-8b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_F16_R16_SILU: Instance = instance!(
    "linear_gated_f16_r16_silu", [name("format", "f16"), number("rows", 16), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_F16_R1_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_f16_r1_gelu_pytorch_tanh", [name("format", "f16"), number("rows", 1),
    name("act", "gelu_pytorch_tanh")], 0
);
/// llama-3.1-8b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_F16_R1_SILU: Instance = instance!(
    "linear_gated_f16_r1_silu", [name("format", "f16"), number("rows", 1), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_F16_R2_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_f16_r2_gelu_pytorch_tanh", [name("format", "f16"), number("rows", 2),
    name("act", "gelu_pytorch_tanh")], 0
);
/// llama-3.1-8b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_F16_R2_SILU: Instance = instance!(
    "linear_gated_f16_r2_silu", [name("format", "f16"), number("rows", 2), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_F16_R4_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_f16_r4_gelu_pytorch_tanh", [name("format", "f16"), number("rows", 4),
    name("act", "gelu_pytorch_tanh")], 0
);
/// llama-3.1-8b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_F16_R4_SILU: Instance = instance!(
    "linear_gated_f16_r4_silu", [name("format", "f16"), number("rows", 4), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_F16_R8_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_f16_r8_gelu_pytorch_tanh", [name("format", "f16"), number("rows", 8),
    name("act", "gelu_pytorch_tanh")], 0
);
/// llama-3.1-8b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_F16_R8_SILU: Instance = instance!(
    "linear_gated_f16_r8_silu", [name("format", "f16"), number("rows", 8), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_F32_R16_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_f32_r16_gelu_pytorch_tanh", [name("format", "f32"), number("rows", 16),
    name("act", "gelu_pytorch_tanh")], 0
);
/// bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_F32_R16_SILU: Instance = instance!(
    "linear_gated_f32_r16_silu", [name("format", "f32"), number("rows", 16), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_F32_R1_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_f32_r1_gelu_pytorch_tanh", [name("format", "f32"), number("rows", 1),
    name("act", "gelu_pytorch_tanh")], 0
);
/// bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_F32_R1_SILU: Instance = instance!(
    "linear_gated_f32_r1_silu", [name("format", "f32"), number("rows", 1), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_F32_R2_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_f32_r2_gelu_pytorch_tanh", [name("format", "f32"), number("rows", 2),
    name("act", "gelu_pytorch_tanh")], 0
);
/// bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_F32_R2_SILU: Instance = instance!(
    "linear_gated_f32_r2_silu", [name("format", "f32"), number("rows", 2), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_F32_R4_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_f32_r4_gelu_pytorch_tanh", [name("format", "f32"), number("rows", 4),
    name("act", "gelu_pytorch_tanh")], 0
);
/// bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_F32_R4_SILU: Instance = instance!(
    "linear_gated_f32_r4_silu", [name("format", "f32"), number("rows", 4), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_F32_R8_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_f32_r8_gelu_pytorch_tanh", [name("format", "f32"), number("rows", 8),
    name("act", "gelu_pytorch_tanh")], 0
);
/// bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_GATED_F32_R8_SILU: Instance = instance!(
    "linear_gated_f32_r8_silu", [name("format", "f32"), number("rows", 8), name("act",
    "silu")], 0
);
/// deepseek-v3, mistral-small-4.
pub const LINEAR_GATED_FP8_E4M3_R16_SILU: Instance = instance!(
    "linear_gated_fp8_e4m3_r16_silu", [name("format", "fp8_e4m3"), number("rows", 16),
    name("act", "silu")], 0
);
/// deepseek-v3, mistral-small-4.
pub const LINEAR_GATED_FP8_E4M3_R1_SILU: Instance = instance!(
    "linear_gated_fp8_e4m3_r1_silu", [name("format", "fp8_e4m3"), number("rows", 1),
    name("act", "silu")], 0
);
/// deepseek-v3, mistral-small-4.
pub const LINEAR_GATED_FP8_E4M3_R2_SILU: Instance = instance!(
    "linear_gated_fp8_e4m3_r2_silu", [name("format", "fp8_e4m3"), number("rows", 2),
    name("act", "silu")], 0
);
/// deepseek-v3, mistral-small-4.
pub const LINEAR_GATED_FP8_E4M3_R4_SILU: Instance = instance!(
    "linear_gated_fp8_e4m3_r4_silu", [name("format", "fp8_e4m3"), number("rows", 4),
    name("act", "silu")], 0
);
/// deepseek-v3, mistral-small-4.
pub const LINEAR_GATED_FP8_E4M3_R8_SILU: Instance = instance!(
    "linear_gated_fp8_e4m3_r8_silu", [name("format", "fp8_e4m3"), number("rows", 8),
    name("act", "silu")], 0
);
/// mistral-small-4-nvfp4, qwen3.5-122b-a10b.
pub const LINEAR_GATED_NVFP4_R16_SILU: Instance = instance!(
    "linear_gated_nvfp4_r16_silu", [name("format", "nvfp4"), number("rows", 16),
    name("act", "silu")], 0
);
/// mistral-small-4-nvfp4, qwen3.5-122b-a10b.
pub const LINEAR_GATED_NVFP4_R1_SILU: Instance = instance!(
    "linear_gated_nvfp4_r1_silu", [name("format", "nvfp4"), number("rows", 1),
    name("act", "silu")], 0
);
/// mistral-small-4-nvfp4, qwen3.5-122b-a10b.
pub const LINEAR_GATED_NVFP4_R2_SILU: Instance = instance!(
    "linear_gated_nvfp4_r2_silu", [name("format", "nvfp4"), number("rows", 2),
    name("act", "silu")], 0
);
/// mistral-small-4-nvfp4, qwen3.5-122b-a10b.
pub const LINEAR_GATED_NVFP4_R4_SILU: Instance = instance!(
    "linear_gated_nvfp4_r4_silu", [name("format", "nvfp4"), number("rows", 4),
    name("act", "silu")], 0
);
/// mistral-small-4-nvfp4, qwen3.5-122b-a10b.
pub const LINEAR_GATED_NVFP4_R8_SILU: Instance = instance!(
    "linear_gated_nvfp4_r8_silu", [name("format", "nvfp4"), number("rows", 8),
    name("act", "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_0_R16_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_0_r16_gelu_pytorch_tanh", [name("format", "q4_0"), number("rows",
    16), name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_0_R16_SILU: Instance = instance!(
    "linear_gated_q4_0_r16_silu", [name("format", "q4_0"), number("rows", 16),
    name("act", "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_0_R1_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_0_r1_gelu_pytorch_tanh", [name("format", "q4_0"), number("rows", 1),
    name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_0_R1_SILU: Instance = instance!(
    "linear_gated_q4_0_r1_silu", [name("format", "q4_0"), number("rows", 1), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_0_R2_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_0_r2_gelu_pytorch_tanh", [name("format", "q4_0"), number("rows", 2),
    name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_0_R2_SILU: Instance = instance!(
    "linear_gated_q4_0_r2_silu", [name("format", "q4_0"), number("rows", 2), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_0_R4_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_0_r4_gelu_pytorch_tanh", [name("format", "q4_0"), number("rows", 4),
    name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_0_R4_SILU: Instance = instance!(
    "linear_gated_q4_0_r4_silu", [name("format", "q4_0"), number("rows", 4), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_0_R8_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_0_r8_gelu_pytorch_tanh", [name("format", "q4_0"), number("rows", 8),
    name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_0_R8_SILU: Instance = instance!(
    "linear_gated_q4_0_r8_silu", [name("format", "q4_0"), number("rows", 8), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_1_R16_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_1_r16_gelu_pytorch_tanh", [name("format", "q4_1"), number("rows",
    16), name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_1_R16_SILU: Instance = instance!(
    "linear_gated_q4_1_r16_silu", [name("format", "q4_1"), number("rows", 16),
    name("act", "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_1_R1_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_1_r1_gelu_pytorch_tanh", [name("format", "q4_1"), number("rows", 1),
    name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_1_R1_SILU: Instance = instance!(
    "linear_gated_q4_1_r1_silu", [name("format", "q4_1"), number("rows", 1), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_1_R2_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_1_r2_gelu_pytorch_tanh", [name("format", "q4_1"), number("rows", 2),
    name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_1_R2_SILU: Instance = instance!(
    "linear_gated_q4_1_r2_silu", [name("format", "q4_1"), number("rows", 2), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_1_R4_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_1_r4_gelu_pytorch_tanh", [name("format", "q4_1"), number("rows", 4),
    name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_1_R4_SILU: Instance = instance!(
    "linear_gated_q4_1_r4_silu", [name("format", "q4_1"), number("rows", 4), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_1_R8_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_1_r8_gelu_pytorch_tanh", [name("format", "q4_1"), number("rows", 8),
    name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_1_R8_SILU: Instance = instance!(
    "linear_gated_q4_1_r8_silu", [name("format", "q4_1"), number("rows", 8), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_K_R16_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_k_r16_gelu_pytorch_tanh", [name("format", "q4_k"), number("rows",
    16), name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_K_R1_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_k_r1_gelu_pytorch_tanh", [name("format", "q4_k"), number("rows", 1),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_K_R2_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_k_r2_gelu_pytorch_tanh", [name("format", "q4_k"), number("rows", 2),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_K_R4_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_k_r4_gelu_pytorch_tanh", [name("format", "q4_k"), number("rows", 4),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q4_K_R8_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q4_k_r8_gelu_pytorch_tanh", [name("format", "q4_k"), number("rows", 8),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_0_R16_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_0_r16_gelu_pytorch_tanh", [name("format", "q5_0"), number("rows",
    16), name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_0_R1_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_0_r1_gelu_pytorch_tanh", [name("format", "q5_0"), number("rows", 1),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_0_R2_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_0_r2_gelu_pytorch_tanh", [name("format", "q5_0"), number("rows", 2),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_0_R4_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_0_r4_gelu_pytorch_tanh", [name("format", "q5_0"), number("rows", 4),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_0_R8_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_0_r8_gelu_pytorch_tanh", [name("format", "q5_0"), number("rows", 8),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_1_R16_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_1_r16_gelu_pytorch_tanh", [name("format", "q5_1"), number("rows",
    16), name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_1_R1_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_1_r1_gelu_pytorch_tanh", [name("format", "q5_1"), number("rows", 1),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_1_R2_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_1_r2_gelu_pytorch_tanh", [name("format", "q5_1"), number("rows", 2),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_1_R4_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_1_r4_gelu_pytorch_tanh", [name("format", "q5_1"), number("rows", 4),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_1_R8_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_1_r8_gelu_pytorch_tanh", [name("format", "q5_1"), number("rows", 8),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_K_R16_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_k_r16_gelu_pytorch_tanh", [name("format", "q5_k"), number("rows",
    16), name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_K_R1_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_k_r1_gelu_pytorch_tanh", [name("format", "q5_k"), number("rows", 1),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_K_R2_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_k_r2_gelu_pytorch_tanh", [name("format", "q5_k"), number("rows", 2),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_K_R4_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_k_r4_gelu_pytorch_tanh", [name("format", "q5_k"), number("rows", 4),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q5_K_R8_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q5_k_r8_gelu_pytorch_tanh", [name("format", "q5_k"), number("rows", 8),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q6_K_R16_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q6_k_r16_gelu_pytorch_tanh", [name("format", "q6_k"), number("rows",
    16), name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q6_K_R1_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q6_k_r1_gelu_pytorch_tanh", [name("format", "q6_k"), number("rows", 1),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q6_K_R2_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q6_k_r2_gelu_pytorch_tanh", [name("format", "q6_k"), number("rows", 2),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q6_K_R4_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q6_k_r4_gelu_pytorch_tanh", [name("format", "q6_k"), number("rows", 4),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q6_K_R8_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q6_k_r8_gelu_pytorch_tanh", [name("format", "q6_k"), number("rows", 8),
    name("act", "gelu_pytorch_tanh")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q8_0_R16_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q8_0_r16_gelu_pytorch_tanh", [name("format", "q8_0"), number("rows",
    16), name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q8_0_R16_SILU: Instance = instance!(
    "linear_gated_q8_0_r16_silu", [name("format", "q8_0"), number("rows", 16),
    name("act", "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q8_0_R1_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q8_0_r1_gelu_pytorch_tanh", [name("format", "q8_0"), number("rows", 1),
    name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q8_0_R1_SILU: Instance = instance!(
    "linear_gated_q8_0_r1_silu", [name("format", "q8_0"), number("rows", 1), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q8_0_R2_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q8_0_r2_gelu_pytorch_tanh", [name("format", "q8_0"), number("rows", 2),
    name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q8_0_R2_SILU: Instance = instance!(
    "linear_gated_q8_0_r2_silu", [name("format", "q8_0"), number("rows", 2), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q8_0_R4_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q8_0_r4_gelu_pytorch_tanh", [name("format", "q8_0"), number("rows", 4),
    name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q8_0_R4_SILU: Instance = instance!(
    "linear_gated_q8_0_r4_silu", [name("format", "q8_0"), number("rows", 4), name("act",
    "silu")], 0
);
/// gemma-3-270m.
pub const LINEAR_GATED_Q8_0_R8_GELU_PYTORCH_TANH: Instance = instance!(
    "linear_gated_q8_0_r8_gelu_pytorch_tanh", [name("format", "q8_0"), number("rows", 8),
    name("act", "gelu_pytorch_tanh")], 0
);
/// smollm2-135m-instruct.
pub const LINEAR_GATED_Q8_0_R8_SILU: Instance = instance!(
    "linear_gated_q8_0_r8_silu", [name("format", "q8_0"), number("rows", 8), name("act",
    "silu")], 0
);
