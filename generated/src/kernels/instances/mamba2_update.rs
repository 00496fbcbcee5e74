//! Instances of `mamba2_update`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// nemotron-3-super-120b-a12b.
pub const MAMBA2_UPDATE_HD64_S128: Instance = instance!(
    "mamba2_update_hd64_s128", [number("head_dim", 64), number("state", 128)], 0
);
