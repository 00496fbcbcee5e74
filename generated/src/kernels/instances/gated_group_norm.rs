//! Instances of `gated_group_norm`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// nemotron-3-super-120b-a12b.
pub const GATED_GROUP_NORM_D8192_G8: Instance = instance!(
    "gated_group_norm_d8192_g8", [number("dim", 8192), number("groups", 8)], 0
);
