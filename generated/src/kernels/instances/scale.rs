//! Instances of `scale`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// gemma-3-270m.
pub const SCALE: Instance = instance!("scale", [], 0);
