//! Instances of `add_bias`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// gpt-oss-20b.
pub const ADD_BIAS_BF16: Instance = instance!(
    "add_bias_bf16", [name("x_dtype", "bf16")], 0
);
/// gpt-oss-20b.
pub const ADD_BIAS_F32: Instance = instance!(
    "add_bias_f32", [name("x_dtype", "f32")], 0
);
