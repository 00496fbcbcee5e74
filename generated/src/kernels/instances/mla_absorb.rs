//! Instances of `mla_absorb`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// deepseek-v3.
pub const MLA_ABSORB_QNHD128_QRHD64_KLR512_DECODE: Instance = instance!(
    "mla_absorb_qnhd128_qrhd64_klr512_decode", [number("qk_nope_head_dim", 128),
    number("qk_rope_head_dim", 64), number("kv_lora_rank", 512), name("phase",
    "decode")], 32768
);
/// bard-mla.
pub const MLA_ABSORB_QNHD32_QRHD32_KLR64_DECODE: Instance = instance!(
    "mla_absorb_qnhd32_qrhd32_klr64_decode", [number("qk_nope_head_dim", 32),
    number("qk_rope_head_dim", 32), number("kv_lora_rank", 64), name("phase", "decode")],
    16384
);
/// mistral-small-4, mistral-small-4-nvfp4.
pub const MLA_ABSORB_QNHD64_QRHD64_KLR256_DECODE: Instance = instance!(
    "mla_absorb_qnhd64_qrhd64_klr256_decode", [number("qk_nope_head_dim", 64),
    number("qk_rope_head_dim", 64), number("kv_lora_rank", 256), name("phase",
    "decode")], 16384
);
