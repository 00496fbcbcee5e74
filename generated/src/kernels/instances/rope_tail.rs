//! Instances of `rope_tail`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// mistral-small-4, mistral-small-4-nvfp4.
pub const ROPE_TAIL_HD128_RD64_INTERLEAVED: Instance = instance!(
    "rope_tail_hd128_rd64_interleaved", [number("head_dim", 128), number("rotary_dim",
    64), name("layout", "interleaved")], 0
);
/// deepseek-v3.
pub const ROPE_TAIL_HD192_RD64_INTERLEAVED: Instance = instance!(
    "rope_tail_hd192_rd64_interleaved", [number("head_dim", 192), number("rotary_dim",
    64), name("layout", "interleaved")], 0
);
/// bard-mla.
pub const ROPE_TAIL_HD64_RD32_INTERLEAVED: Instance = instance!(
    "rope_tail_hd64_rd32_interleaved", [number("head_dim", 64), number("rotary_dim", 32),
    name("layout", "interleaved")], 0
);
