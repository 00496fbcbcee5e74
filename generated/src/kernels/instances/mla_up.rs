//! Instances of `mla_up`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// mistral-small-4, mistral-small-4-nvfp4.
pub const MLA_UP_KLR256_VHD128_DECODE: Instance = instance!(
    "mla_up_klr256_vhd128_decode", [number("kv_lora_rank", 256), number("v_head_dim",
    128), name("phase", "decode")], 65536
);
/// deepseek-v3.
pub const MLA_UP_KLR512_VHD128_DECODE: Instance = instance!(
    "mla_up_klr512_vhd128_decode", [number("kv_lora_rank", 512), number("v_head_dim",
    128), name("phase", "decode")], 65536
);
/// bard-mla.
pub const MLA_UP_KLR64_VHD32_DECODE: Instance = instance!(
    "mla_up_klr64_vhd32_decode", [number("kv_lora_rank", 64), number("v_head_dim", 32),
    name("phase", "decode")], 16384
);
