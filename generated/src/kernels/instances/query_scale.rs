//! Instances of `query_scale`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// bard-mla, mistral-small-4, mistral-small-4-nvfp4.
pub const QUERY_SCALE: Instance = instance!("query_scale", [], 0);
