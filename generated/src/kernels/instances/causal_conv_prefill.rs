//! Instances of `causal_conv_prefill`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
pub const CAUSAL_CONV_PREFILL_CK4: Instance = instance!(
    "causal_conv_prefill_ck4", [number("conv_kernel", 4)], 0
);
