//! Instances of `attention_decode`, with the models that launch them: parameters, and bytes of shared memory at most.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::Instance;
use tenon_core::instance;

/// nemotron-3-super-120b-a12b.
pub const ATTENTION_DECODE_BF16_HD128_G16_TK64: Instance = instance!(
    "attention_decode_bf16_hd128_g16_tk64", [name("kv_dtype", "bf16"), number("head_dim",
    128), number("group", 16), number("tile_kv", 64)], 108800
);
/// qwen3-0.6b.
pub const ATTENTION_DECODE_BF16_HD128_G2_TK64: Instance = instance!(
    "attention_decode_bf16_hd128_g2_tk64", [name("kv_dtype", "bf16"), number("head_dim",
    128), number("group", 2), number("tile_kv", 64)], 108800
);
/// llama-3.1-8b, qwen3-8b.
pub const ATTENTION_DECODE_BF16_HD128_G4_TK64: Instance = instance!(
    "attention_decode_bf16_hd128_g4_tk64", [name("kv_dtype", "bf16"), number("head_dim",
    128), number("group", 4), number("tile_kv", 64)], 108800
);
/// qwen3.5-122b-a10b.
pub const ATTENTION_DECODE_BF16_HD256_G16_TK64: Instance = instance!(
    "attention_decode_bf16_hd256_g16_tk64", [name("kv_dtype", "bf16"), number("head_dim",
    256), number("group", 16), number("tile_kv", 64)], 109824
);
/// gemma-3-270m.
pub const ATTENTION_DECODE_BF16_HD256_G4_TK64: Instance = instance!(
    "attention_decode_bf16_hd256_g4_tk64", [name("kv_dtype", "bf16"), number("head_dim",
    256), number("group", 4), number("tile_kv", 64)], 109824
);
/// smollm2-135m-instruct.
pub const ATTENTION_DECODE_BF16_HD64_G3_TK64: Instance = instance!(
    "attention_decode_bf16_hd64_g3_tk64", [name("kv_dtype", "bf16"), number("head_dim",
    64), number("group", 3), number("tile_kv", 64)], 57600
);
/// gpt-oss-20b.
pub const ATTENTION_DECODE_BF16_HD64_G8_TK64: Instance = instance!(
    "attention_decode_bf16_hd64_g8_tk64", [name("kv_dtype", "bf16"), number("head_dim",
    64), number("group", 8), number("tile_kv", 64)], 57600
);
