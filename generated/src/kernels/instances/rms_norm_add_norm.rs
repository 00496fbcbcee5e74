//! Instances of `rms_norm_add_norm`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// gemma-3-270m.
pub const RMS_NORM_ADD_NORM_D640: Instance = instance!(
    "rms_norm_add_norm_d640", [number("dim", 640)], 0
);
