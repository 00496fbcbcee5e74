//! Instances of `rope_angles`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const ROPE_ANGLES: Instance = instance!("rope_angles", [], 0);
