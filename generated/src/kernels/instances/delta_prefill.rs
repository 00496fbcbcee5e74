//! Instances of `delta_prefill`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// qwen3.5-122b-a10b.
pub const DELTA_PREFILL_KD128_VD128_C64: Instance = instance!(
    "delta_prefill_kd128_vd128_c64", [number("key_dim", 128), number("value_dim", 128),
    number("chunk", 64)], 230400
);
