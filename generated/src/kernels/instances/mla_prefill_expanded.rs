//! Instances of `mla_prefill_expanded`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// deepseek-v3.
pub const MLA_PREFILL_EXPANDED_QNHD128_QRHD64_VHD128_PREFILL: Instance = instance!(
    "mla_prefill_expanded_qnhd128_qrhd64_vhd128_prefill", [number("qk_nope_head_dim",
    128), number("qk_rope_head_dim", 64), number("v_head_dim", 128), name("phase",
    "prefill")], 212992
);
/// bard-mla.
pub const MLA_PREFILL_EXPANDED_QNHD32_QRHD32_VHD32_PREFILL: Instance = instance!(
    "mla_prefill_expanded_qnhd32_qrhd32_vhd32_prefill", [number("qk_nope_head_dim", 32),
    number("qk_rope_head_dim", 32), number("v_head_dim", 32), name("phase", "prefill")],
    81920
);
/// mistral-small-4, mistral-small-4-nvfp4.
pub const MLA_PREFILL_EXPANDED_QNHD64_QRHD64_VHD128_PREFILL: Instance = instance!(
    "mla_prefill_expanded_qnhd64_qrhd64_vhd128_prefill", [number("qk_nope_head_dim", 64),
    number("qk_rope_head_dim", 64), number("v_head_dim", 128), name("phase", "prefill")],
    163840
);
