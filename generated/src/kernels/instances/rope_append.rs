//! Instances of `rope_append`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// llama-3.1-8b.
pub const ROPE_APPEND_HD128_RD128_HALVES_NONE_BF16: Instance = instance!(
    "rope_append_hd128_rd128_halves_none_bf16", [number("head_dim", 128),
    number("rotary_dim", 128), name("layout", "halves"), name("norm", "none"),
    name("kv_dtype", "bf16")], 0
);
/// qwen3-0.6b, qwen3-8b.
pub const ROPE_APPEND_HD128_RD128_HALVES_QK_BF16: Instance = instance!(
    "rope_append_hd128_rd128_halves_qk_bf16", [number("head_dim", 128),
    number("rotary_dim", 128), name("layout", "halves"), name("norm", "qk"),
    name("kv_dtype", "bf16")], 0
);
/// gemma-3-270m.
pub const ROPE_APPEND_HD256_RD256_HALVES_QK_BF16: Instance = instance!(
    "rope_append_hd256_rd256_halves_qk_bf16", [number("head_dim", 256),
    number("rotary_dim", 256), name("layout", "halves"), name("norm", "qk"),
    name("kv_dtype", "bf16")], 0
);
/// qwen3.5-122b-a10b.
pub const ROPE_APPEND_HD256_RD64_HALVES_QK_BF16: Instance = instance!(
    "rope_append_hd256_rd64_halves_qk_bf16", [number("head_dim", 256),
    number("rotary_dim", 64), name("layout", "halves"), name("norm", "qk"),
    name("kv_dtype", "bf16")], 0
);
/// gpt-oss-20b, smollm2-135m-instruct.
pub const ROPE_APPEND_HD64_RD64_HALVES_NONE_BF16: Instance = instance!(
    "rope_append_hd64_rd64_halves_none_bf16", [number("head_dim", 64),
    number("rotary_dim", 64), name("layout", "halves"), name("norm", "none"),
    name("kv_dtype", "bf16")], 0
);
