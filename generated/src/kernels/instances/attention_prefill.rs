//! Instances of `attention_prefill`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// nemotron-3-super-120b-a12b.
pub const ATTENTION_PREFILL_BF16_HD128_G16_TQ192_TK128: Instance = instance!(
    "attention_prefill_bf16_hd128_g16_tq192_tk128", [name("kv_dtype", "bf16"),
    number("head_dim", 128), number("group", 16), number("tile_q", 192),
    number("tile_kv", 128)], 164928
);
/// qwen3-0.6b.
pub const ATTENTION_PREFILL_BF16_HD128_G2_TQ192_TK128: Instance = instance!(
    "attention_prefill_bf16_hd128_g2_tq192_tk128", [name("kv_dtype", "bf16"),
    number("head_dim", 128), number("group", 2), number("tile_q", 192), number("tile_kv",
    128)], 164928
);
/// llama-3.1-8b, qwen3-8b.
pub const ATTENTION_PREFILL_BF16_HD128_G4_TQ192_TK128: Instance = instance!(
    "attention_prefill_bf16_hd128_g4_tq192_tk128", [name("kv_dtype", "bf16"),
    number("head_dim", 128), number("group", 4), number("tile_q", 192), number("tile_kv",
    128)], 164928
);
/// qwen3.5-122b-a10b.
pub const ATTENTION_PREFILL_BF16_HD256_G16_TQ192_TK128: Instance = instance!(
    "attention_prefill_bf16_hd256_g16_tq192_tk128", [name("kv_dtype", "bf16"),
    number("head_dim", 256), number("group", 16), number("tile_q", 192),
    number("tile_kv", 128)], 230464
);
/// gemma-3-270m.
pub const ATTENTION_PREFILL_BF16_HD256_G4_TQ192_TK128: Instance = instance!(
    "attention_prefill_bf16_hd256_g4_tq192_tk128", [name("kv_dtype", "bf16"),
    number("head_dim", 256), number("group", 4), number("tile_q", 192), number("tile_kv",
    128)], 230464
);
/// smollm2-135m-instruct.
pub const ATTENTION_PREFILL_BF16_HD64_G3_TQ192_TK128: Instance = instance!(
    "attention_prefill_bf16_hd64_g3_tq192_tk128", [name("kv_dtype", "bf16"),
    number("head_dim", 64), number("group", 3), number("tile_q", 192), number("tile_kv",
    128)], 91200
);
/// gpt-oss-20b.
pub const ATTENTION_PREFILL_BF16_HD64_G8_TQ192_TK128: Instance = instance!(
    "attention_prefill_bf16_hd64_g8_tq192_tk128", [name("kv_dtype", "bf16"),
    number("head_dim", 64), number("group", 8), number("tile_q", 192), number("tile_kv",
    128)], 91200
);
