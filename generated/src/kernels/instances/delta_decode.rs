//! Instances of `delta_decode`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// qwen3.5-122b-a10b.
pub const DELTA_DECODE_KD128_VD128: Instance = instance!(
    "delta_decode_kd128_vd128", [number("key_dim", 128), number("value_dim", 128)], 0
);
