//! Instances of `latent_append`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// mistral-small-4, mistral-small-4-nvfp4.
pub const LATENT_APPEND_KLR256_QRHD64_INTERLEAVED_BF16: Instance = instance!(
    "latent_append_klr256_qrhd64_interleaved_bf16", [number("kv_lora_rank", 256),
    number("qk_rope_head_dim", 64), name("layout", "interleaved"), name("kv_dtype",
    "bf16")], 0
);
/// deepseek-v3.
pub const LATENT_APPEND_KLR512_QRHD64_INTERLEAVED_BF16: Instance = instance!(
    "latent_append_klr512_qrhd64_interleaved_bf16", [number("kv_lora_rank", 512),
    number("qk_rope_head_dim", 64), name("layout", "interleaved"), name("kv_dtype",
    "bf16")], 0
);
/// bard-mla.
pub const LATENT_APPEND_KLR64_QRHD32_INTERLEAVED_BF16: Instance = instance!(
    "latent_append_klr64_qrhd32_interleaved_bf16", [number("kv_lora_rank", 64),
    number("qk_rope_head_dim", 32), name("layout", "interleaved"), name("kv_dtype",
    "bf16")], 0
);
/// bard-mla.
pub const LATENT_APPEND_KLR64_QRHD32_INTERLEAVED_FP8_E4M3: Instance = instance!(
    "latent_append_klr64_qrhd32_interleaved_fp8_e4m3", [number("kv_lora_rank", 64),
    number("qk_rope_head_dim", 32), name("layout", "interleaved"), name("kv_dtype",
    "fp8_e4m3")], 0
);
