//! Instances of `act`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// nemotron-3-super-120b-a12b.
pub const ACT_RELU2: Instance = instance!("act_relu2", [name("act", "relu2")], 0);
