//! Instances of `kv_append`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// nemotron-3-super-120b-a12b.
pub const KV_APPEND_HD128_BF16: Instance = instance!(
    "kv_append_hd128_bf16", [number("head_dim", 128), name("kv_dtype", "bf16")], 0
);
