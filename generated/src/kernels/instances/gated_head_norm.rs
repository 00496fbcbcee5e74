//! Instances of `gated_head_norm`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// qwen3.5-122b-a10b.
pub const GATED_HEAD_NORM_HD128: Instance = instance!(
    "gated_head_norm_hd128", [number("head_dim", 128)], 0
);
