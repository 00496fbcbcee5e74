//! Instances of `sigmoid_gate_add`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// qwen3.5-122b-a10b.
pub const SIGMOID_GATE_ADD: Instance = instance!("sigmoid_gate_add", [], 0);
