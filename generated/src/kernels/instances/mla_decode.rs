//! Instances of `mla_decode`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// mistral-small-4, mistral-small-4-nvfp4.
pub const MLA_DECODE_BF16_KLR256_QRHD64: Instance = instance!(
    "mla_decode_bf16_klr256_qrhd64", [name("kv_dtype", "bf16"), number("kv_lora_rank",
    256), number("qk_rope_head_dim", 64)], 206848
);
/// deepseek-v3.
pub const MLA_DECODE_BF16_KLR512_QRHD64: Instance = instance!(
    "mla_decode_bf16_klr512_qrhd64", [name("kv_dtype", "bf16"), number("kv_lora_rank",
    512), number("qk_rope_head_dim", 64)], 223232
);
/// bard-mla.
pub const MLA_DECODE_BF16_KLR64_QRHD32: Instance = instance!(
    "mla_decode_bf16_klr64_qrhd32", [name("kv_dtype", "bf16"), number("kv_lora_rank",
    64), number("qk_rope_head_dim", 32)], 100352
);
/// bard-mla.
pub const MLA_DECODE_FP8_E4M3_KLR64_QRHD32: Instance = instance!(
    "mla_decode_fp8_e4m3_klr64_qrhd32", [name("kv_dtype", "fp8_e4m3"),
    number("kv_lora_rank", 64), number("qk_rope_head_dim", 32)], 100352
);
