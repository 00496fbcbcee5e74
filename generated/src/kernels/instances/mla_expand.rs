//! Instances of `mla_expand`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// deepseek-v3.
pub const MLA_EXPAND_BF16_QNHD128_QRHD64_VHD128_KLR512_PREFILL: Instance = instance!(
    "mla_expand_bf16_qnhd128_qrhd64_vhd128_klr512_prefill", [name("kv_dtype", "bf16"),
    number("qk_nope_head_dim", 128), number("qk_rope_head_dim", 64), number("v_head_dim",
    128), number("kv_lora_rank", 512), name("phase", "prefill")], 98304
);
/// bard-mla.
pub const MLA_EXPAND_BF16_QNHD32_QRHD32_VHD32_KLR64_PREFILL: Instance = instance!(
    "mla_expand_bf16_qnhd32_qrhd32_vhd32_klr64_prefill", [name("kv_dtype", "bf16"),
    number("qk_nope_head_dim", 32), number("qk_rope_head_dim", 32), number("v_head_dim",
    32), number("kv_lora_rank", 64), name("phase", "prefill")], 98304
);
/// mistral-small-4, mistral-small-4-nvfp4.
pub const MLA_EXPAND_BF16_QNHD64_QRHD64_VHD128_KLR256_PREFILL: Instance = instance!(
    "mla_expand_bf16_qnhd64_qrhd64_vhd128_klr256_prefill", [name("kv_dtype", "bf16"),
    number("qk_nope_head_dim", 64), number("qk_rope_head_dim", 64), number("v_head_dim",
    128), number("kv_lora_rank", 256), name("phase", "prefill")], 98304
);
/// bard-mla.
pub const MLA_EXPAND_FP8_E4M3_QNHD32_QRHD32_VHD32_KLR64_PREFILL: Instance = instance!(
    "mla_expand_fp8_e4m3_qnhd32_qrhd32_vhd32_klr64_prefill", [name("kv_dtype",
    "fp8_e4m3"), number("qk_nope_head_dim", 32), number("qk_rope_head_dim", 32),
    number("v_head_dim", 32), number("kv_lora_rank", 64), name("phase", "prefill")],
    98304
);
