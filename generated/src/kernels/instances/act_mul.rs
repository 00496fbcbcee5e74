//! Instances of `act_mul`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// gemma-3-270m.
pub const ACT_MUL_GELU_PYTORCH_TANH: Instance = instance!(
    "act_mul_gelu_pytorch_tanh", [name("act", "gelu_pytorch_tanh")], 0
);
/// bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const ACT_MUL_SILU: Instance = instance!("act_mul_silu", [name("act", "silu")], 0);
