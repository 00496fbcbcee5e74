//! Every instance of a kernel that a model of this crate launches, with the models that do.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::{Instance, Parameter};

/// act_mul: gemma-3-270m.
pub const ACT_MUL_GELU_PYTORCH_TANH: Instance = Instance {
    name: "act_mul_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/act_mul_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[Parameter::name("act", "gelu_pytorch_tanh")],
    shared_bytes: 0,
};
/// act_mul: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const ACT_MUL_SILU: Instance = Instance {
    name: "act_mul_silu",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/act_mul_silu.cubin")),
    manifest: &[Parameter::name("act", "silu")],
    shared_bytes: 0,
};
/// argmax: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const ARGMAX: Instance = Instance {
    name: "argmax",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/argmax.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// attention_decode: qwen3-0.6b.
pub const ATTENTION_DECODE_BF16_HD128_G2_TK64: Instance = Instance {
    name: "attention_decode_bf16_hd128_g2_tk64",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/attention_decode_bf16_hd128_g2_tk64.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 128),
        Parameter::number("group", 2),
        Parameter::number("tile_kv", 64),
    ],
    shared_bytes: 108800,
};
/// attention_decode: llama-3.1-8b, qwen3-8b.
pub const ATTENTION_DECODE_BF16_HD128_G4_TK64: Instance = Instance {
    name: "attention_decode_bf16_hd128_g4_tk64",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/attention_decode_bf16_hd128_g4_tk64.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 128),
        Parameter::number("group", 4),
        Parameter::number("tile_kv", 64),
    ],
    shared_bytes: 108800,
};
/// attention_decode: gemma-3-270m.
pub const ATTENTION_DECODE_BF16_HD256_G4_TK64: Instance = Instance {
    name: "attention_decode_bf16_hd256_g4_tk64",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/attention_decode_bf16_hd256_g4_tk64.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 256),
        Parameter::number("group", 4),
        Parameter::number("tile_kv", 64),
    ],
    shared_bytes: 109824,
};
/// attention_decode: smollm2-135m-instruct.
pub const ATTENTION_DECODE_BF16_HD64_G3_TK64: Instance = Instance {
    name: "attention_decode_bf16_hd64_g3_tk64",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/attention_decode_bf16_hd64_g3_tk64.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 64),
        Parameter::number("group", 3),
        Parameter::number("tile_kv", 64),
    ],
    shared_bytes: 57600,
};
/// attention_prefill: qwen3-0.6b.
pub const ATTENTION_PREFILL_BF16_HD128_G2_TQ128_TK128: Instance = Instance {
    name: "attention_prefill_bf16_hd128_g2_tq128_tk128",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/attention_prefill_bf16_hd128_g2_tq128_tk128.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 128),
        Parameter::number("group", 2),
        Parameter::number("tile_q", 128),
        Parameter::number("tile_kv", 128),
    ],
    shared_bytes: 165120,
};
/// attention_prefill: llama-3.1-8b, qwen3-8b.
pub const ATTENTION_PREFILL_BF16_HD128_G4_TQ128_TK128: Instance = Instance {
    name: "attention_prefill_bf16_hd128_g4_tq128_tk128",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/attention_prefill_bf16_hd128_g4_tq128_tk128.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 128),
        Parameter::number("group", 4),
        Parameter::number("tile_q", 128),
        Parameter::number("tile_kv", 128),
    ],
    shared_bytes: 165120,
};
/// attention_prefill: gemma-3-270m.
pub const ATTENTION_PREFILL_BF16_HD256_G4_TQ128_TK128: Instance = Instance {
    name: "attention_prefill_bf16_hd256_g4_tq128_tk128",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/attention_prefill_bf16_hd256_g4_tq128_tk128.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 256),
        Parameter::number("group", 4),
        Parameter::number("tile_q", 128),
        Parameter::number("tile_kv", 128),
    ],
    shared_bytes: 197760,
};
/// attention_prefill: smollm2-135m-instruct.
pub const ATTENTION_PREFILL_BF16_HD64_G3_TQ128_TK128: Instance = Instance {
    name: "attention_prefill_bf16_hd64_g3_tq128_tk128",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/attention_prefill_bf16_hd64_g3_tq128_tk128.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 64),
        Parameter::number("group", 3),
        Parameter::number("tile_q", 128),
        Parameter::number("tile_kv", 128),
    ],
    shared_bytes: 83200,
};
/// dequantise: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const DEQUANTISE_BF16: Instance = Instance {
    name: "dequantise_bf16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_bf16.cubin")),
    manifest: &[Parameter::name("format", "bf16")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const DEQUANTISE_F16: Instance = Instance {
    name: "dequantise_f16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_f16.cubin")),
    manifest: &[Parameter::name("format", "f16")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const DEQUANTISE_F32: Instance = Instance {
    name: "dequantise_f32",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_f32.cubin")),
    manifest: &[Parameter::name("format", "f32")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m, smollm2-135m-instruct.
pub const DEQUANTISE_Q4_0: Instance = Instance {
    name: "dequantise_q4_0",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q4_0.cubin")),
    manifest: &[Parameter::name("format", "q4_0")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m, smollm2-135m-instruct.
pub const DEQUANTISE_Q4_1: Instance = Instance {
    name: "dequantise_q4_1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q4_1.cubin")),
    manifest: &[Parameter::name("format", "q4_1")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m.
pub const DEQUANTISE_Q4_K: Instance = Instance {
    name: "dequantise_q4_k",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q4_k.cubin")),
    manifest: &[Parameter::name("format", "q4_k")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m.
pub const DEQUANTISE_Q5_0: Instance = Instance {
    name: "dequantise_q5_0",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q5_0.cubin")),
    manifest: &[Parameter::name("format", "q5_0")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m.
pub const DEQUANTISE_Q5_1: Instance = Instance {
    name: "dequantise_q5_1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q5_1.cubin")),
    manifest: &[Parameter::name("format", "q5_1")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m.
pub const DEQUANTISE_Q5_K: Instance = Instance {
    name: "dequantise_q5_k",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q5_k.cubin")),
    manifest: &[Parameter::name("format", "q5_k")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m.
pub const DEQUANTISE_Q6_K: Instance = Instance {
    name: "dequantise_q6_k",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q6_k.cubin")),
    manifest: &[Parameter::name("format", "q6_k")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m, smollm2-135m-instruct.
pub const DEQUANTISE_Q8_0: Instance = Instance {
    name: "dequantise_q8_0",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q8_0.cubin")),
    manifest: &[Parameter::name("format", "q8_0")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const EMBEDDING_BF16: Instance = Instance {
    name: "embedding_bf16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_bf16.cubin")),
    manifest: &[Parameter::name("format", "bf16")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const EMBEDDING_F16: Instance = Instance {
    name: "embedding_f16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_f16.cubin")),
    manifest: &[Parameter::name("format", "f16")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const EMBEDDING_F32: Instance = Instance {
    name: "embedding_f32",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_f32.cubin")),
    manifest: &[Parameter::name("format", "f32")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m, smollm2-135m-instruct.
pub const EMBEDDING_Q4_0: Instance = Instance {
    name: "embedding_q4_0",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q4_0.cubin")),
    manifest: &[Parameter::name("format", "q4_0")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m, smollm2-135m-instruct.
pub const EMBEDDING_Q4_1: Instance = Instance {
    name: "embedding_q4_1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q4_1.cubin")),
    manifest: &[Parameter::name("format", "q4_1")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m.
pub const EMBEDDING_Q4_K: Instance = Instance {
    name: "embedding_q4_k",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q4_k.cubin")),
    manifest: &[Parameter::name("format", "q4_k")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m.
pub const EMBEDDING_Q5_0: Instance = Instance {
    name: "embedding_q5_0",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q5_0.cubin")),
    manifest: &[Parameter::name("format", "q5_0")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m.
pub const EMBEDDING_Q5_1: Instance = Instance {
    name: "embedding_q5_1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q5_1.cubin")),
    manifest: &[Parameter::name("format", "q5_1")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m.
pub const EMBEDDING_Q5_K: Instance = Instance {
    name: "embedding_q5_k",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q5_k.cubin")),
    manifest: &[Parameter::name("format", "q5_k")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m.
pub const EMBEDDING_Q6_K: Instance = Instance {
    name: "embedding_q6_k",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q6_k.cubin")),
    manifest: &[Parameter::name("format", "q6_k")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m, smollm2-135m-instruct.
pub const EMBEDDING_Q8_0: Instance = Instance {
    name: "embedding_q8_0",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q8_0.cubin")),
    manifest: &[Parameter::name("format", "q8_0")],
    shared_bytes: 0,
};
/// gather_logit_rows: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const GATHER_LOGIT_ROWS: Instance = Instance {
    name: "gather_logit_rows",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/gather_logit_rows.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_BF16_R1: Instance = Instance {
    name: "linear_bf16_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r1.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_BF16_R16: Instance = Instance {
    name: "linear_bf16_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r16.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_BF16_R2: Instance = Instance {
    name: "linear_bf16_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r2.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_BF16_R4: Instance = Instance {
    name: "linear_bf16_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r4.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_BF16_R8: Instance = Instance {
    name: "linear_bf16_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r8.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_F16_R1: Instance = Instance {
    name: "linear_f16_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r1.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_F16_R16: Instance = Instance {
    name: "linear_f16_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r16.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_F16_R2: Instance = Instance {
    name: "linear_f16_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r2.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_F16_R4: Instance = Instance {
    name: "linear_f16_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r4.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_F16_R8: Instance = Instance {
    name: "linear_f16_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r8.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_F32_R1: Instance = Instance {
    name: "linear_f32_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r1.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_F32_R16: Instance = Instance {
    name: "linear_f32_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r16.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_F32_R2: Instance = Instance {
    name: "linear_f32_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r2.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_F32_R4: Instance = Instance {
    name: "linear_f32_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r4.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_F32_R8: Instance = Instance {
    name: "linear_f32_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r8.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_BF16_R16_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_bf16_r16_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_bf16_r16_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::number("rows", 16),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_BF16_R16_SILU: Instance = Instance {
    name: "linear_gated_bf16_r16_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_bf16_r16_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::number("rows", 16),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_BF16_R1_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_bf16_r1_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_bf16_r1_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::number("rows", 1),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_BF16_R1_SILU: Instance = Instance {
    name: "linear_gated_bf16_r1_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_bf16_r1_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::number("rows", 1),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_BF16_R2_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_bf16_r2_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_bf16_r2_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::number("rows", 2),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_BF16_R2_SILU: Instance = Instance {
    name: "linear_gated_bf16_r2_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_bf16_r2_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::number("rows", 2),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_BF16_R4_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_bf16_r4_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_bf16_r4_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::number("rows", 4),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_BF16_R4_SILU: Instance = Instance {
    name: "linear_gated_bf16_r4_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_bf16_r4_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::number("rows", 4),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_BF16_R8_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_bf16_r8_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_bf16_r8_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::number("rows", 8),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_BF16_R8_SILU: Instance = Instance {
    name: "linear_gated_bf16_r8_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_bf16_r8_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::number("rows", 8),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_F16_R16_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_f16_r16_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f16_r16_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::number("rows", 16),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_F16_R16_SILU: Instance = Instance {
    name: "linear_gated_f16_r16_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f16_r16_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::number("rows", 16),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_F16_R1_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_f16_r1_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f16_r1_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::number("rows", 1),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_F16_R1_SILU: Instance = Instance {
    name: "linear_gated_f16_r1_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f16_r1_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::number("rows", 1),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_F16_R2_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_f16_r2_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f16_r2_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::number("rows", 2),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_F16_R2_SILU: Instance = Instance {
    name: "linear_gated_f16_r2_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f16_r2_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::number("rows", 2),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_F16_R4_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_f16_r4_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f16_r4_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::number("rows", 4),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_F16_R4_SILU: Instance = Instance {
    name: "linear_gated_f16_r4_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f16_r4_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::number("rows", 4),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_F16_R8_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_f16_r8_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f16_r8_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::number("rows", 8),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_F16_R8_SILU: Instance = Instance {
    name: "linear_gated_f16_r8_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f16_r8_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::number("rows", 8),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_F32_R16_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_f32_r16_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f32_r16_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::number("rows", 16),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_F32_R16_SILU: Instance = Instance {
    name: "linear_gated_f32_r16_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f32_r16_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::number("rows", 16),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_F32_R1_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_f32_r1_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f32_r1_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::number("rows", 1),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_F32_R1_SILU: Instance = Instance {
    name: "linear_gated_f32_r1_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f32_r1_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::number("rows", 1),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_F32_R2_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_f32_r2_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f32_r2_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::number("rows", 2),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_F32_R2_SILU: Instance = Instance {
    name: "linear_gated_f32_r2_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f32_r2_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::number("rows", 2),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_F32_R4_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_f32_r4_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f32_r4_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::number("rows", 4),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_F32_R4_SILU: Instance = Instance {
    name: "linear_gated_f32_r4_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f32_r4_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::number("rows", 4),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_F32_R8_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_f32_r8_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f32_r8_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::number("rows", 8),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const LINEAR_GATED_F32_R8_SILU: Instance = Instance {
    name: "linear_gated_f32_r8_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_f32_r8_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::number("rows", 8),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_0_R16_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_0_r16_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_0_r16_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_0"),
        Parameter::number("rows", 16),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_0_R16_SILU: Instance = Instance {
    name: "linear_gated_q4_0_r16_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_0_r16_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_0"),
        Parameter::number("rows", 16),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_0_R1_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_0_r1_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_0_r1_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_0"),
        Parameter::number("rows", 1),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_0_R1_SILU: Instance = Instance {
    name: "linear_gated_q4_0_r1_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_0_r1_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_0"),
        Parameter::number("rows", 1),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_0_R2_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_0_r2_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_0_r2_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_0"),
        Parameter::number("rows", 2),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_0_R2_SILU: Instance = Instance {
    name: "linear_gated_q4_0_r2_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_0_r2_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_0"),
        Parameter::number("rows", 2),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_0_R4_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_0_r4_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_0_r4_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_0"),
        Parameter::number("rows", 4),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_0_R4_SILU: Instance = Instance {
    name: "linear_gated_q4_0_r4_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_0_r4_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_0"),
        Parameter::number("rows", 4),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_0_R8_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_0_r8_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_0_r8_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_0"),
        Parameter::number("rows", 8),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_0_R8_SILU: Instance = Instance {
    name: "linear_gated_q4_0_r8_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_0_r8_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_0"),
        Parameter::number("rows", 8),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_1_R16_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_1_r16_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_1_r16_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_1"),
        Parameter::number("rows", 16),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_1_R16_SILU: Instance = Instance {
    name: "linear_gated_q4_1_r16_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_1_r16_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_1"),
        Parameter::number("rows", 16),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_1_R1_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_1_r1_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_1_r1_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_1"),
        Parameter::number("rows", 1),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_1_R1_SILU: Instance = Instance {
    name: "linear_gated_q4_1_r1_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_1_r1_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_1"),
        Parameter::number("rows", 1),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_1_R2_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_1_r2_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_1_r2_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_1"),
        Parameter::number("rows", 2),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_1_R2_SILU: Instance = Instance {
    name: "linear_gated_q4_1_r2_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_1_r2_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_1"),
        Parameter::number("rows", 2),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_1_R4_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_1_r4_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_1_r4_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_1"),
        Parameter::number("rows", 4),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_1_R4_SILU: Instance = Instance {
    name: "linear_gated_q4_1_r4_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_1_r4_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_1"),
        Parameter::number("rows", 4),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_1_R8_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_1_r8_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_1_r8_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_1"),
        Parameter::number("rows", 8),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q4_1_R8_SILU: Instance = Instance {
    name: "linear_gated_q4_1_r8_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_1_r8_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_1"),
        Parameter::number("rows", 8),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_K_R16_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_k_r16_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_k_r16_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_k"),
        Parameter::number("rows", 16),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_K_R1_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_k_r1_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_k_r1_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_k"),
        Parameter::number("rows", 1),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_K_R2_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_k_r2_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_k_r2_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_k"),
        Parameter::number("rows", 2),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_K_R4_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_k_r4_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_k_r4_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_k"),
        Parameter::number("rows", 4),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q4_K_R8_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q4_k_r8_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q4_k_r8_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q4_k"),
        Parameter::number("rows", 8),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_0_R16_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_0_r16_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_0_r16_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_0"),
        Parameter::number("rows", 16),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_0_R1_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_0_r1_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_0_r1_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_0"),
        Parameter::number("rows", 1),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_0_R2_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_0_r2_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_0_r2_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_0"),
        Parameter::number("rows", 2),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_0_R4_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_0_r4_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_0_r4_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_0"),
        Parameter::number("rows", 4),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_0_R8_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_0_r8_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_0_r8_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_0"),
        Parameter::number("rows", 8),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_1_R16_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_1_r16_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_1_r16_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_1"),
        Parameter::number("rows", 16),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_1_R1_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_1_r1_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_1_r1_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_1"),
        Parameter::number("rows", 1),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_1_R2_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_1_r2_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_1_r2_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_1"),
        Parameter::number("rows", 2),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_1_R4_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_1_r4_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_1_r4_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_1"),
        Parameter::number("rows", 4),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_1_R8_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_1_r8_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_1_r8_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_1"),
        Parameter::number("rows", 8),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_K_R16_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_k_r16_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_k_r16_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_k"),
        Parameter::number("rows", 16),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_K_R1_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_k_r1_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_k_r1_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_k"),
        Parameter::number("rows", 1),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_K_R2_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_k_r2_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_k_r2_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_k"),
        Parameter::number("rows", 2),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_K_R4_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_k_r4_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_k_r4_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_k"),
        Parameter::number("rows", 4),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q5_K_R8_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q5_k_r8_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q5_k_r8_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q5_k"),
        Parameter::number("rows", 8),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q6_K_R16_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q6_k_r16_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q6_k_r16_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q6_k"),
        Parameter::number("rows", 16),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q6_K_R1_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q6_k_r1_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q6_k_r1_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q6_k"),
        Parameter::number("rows", 1),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q6_K_R2_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q6_k_r2_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q6_k_r2_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q6_k"),
        Parameter::number("rows", 2),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q6_K_R4_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q6_k_r4_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q6_k_r4_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q6_k"),
        Parameter::number("rows", 4),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q6_K_R8_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q6_k_r8_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q6_k_r8_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q6_k"),
        Parameter::number("rows", 8),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q8_0_R16_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q8_0_r16_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q8_0_r16_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q8_0"),
        Parameter::number("rows", 16),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q8_0_R16_SILU: Instance = Instance {
    name: "linear_gated_q8_0_r16_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q8_0_r16_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q8_0"),
        Parameter::number("rows", 16),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q8_0_R1_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q8_0_r1_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q8_0_r1_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q8_0"),
        Parameter::number("rows", 1),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q8_0_R1_SILU: Instance = Instance {
    name: "linear_gated_q8_0_r1_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q8_0_r1_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q8_0"),
        Parameter::number("rows", 1),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q8_0_R2_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q8_0_r2_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q8_0_r2_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q8_0"),
        Parameter::number("rows", 2),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q8_0_R2_SILU: Instance = Instance {
    name: "linear_gated_q8_0_r2_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q8_0_r2_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q8_0"),
        Parameter::number("rows", 2),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q8_0_R4_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q8_0_r4_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q8_0_r4_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q8_0"),
        Parameter::number("rows", 4),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q8_0_R4_SILU: Instance = Instance {
    name: "linear_gated_q8_0_r4_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q8_0_r4_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q8_0"),
        Parameter::number("rows", 4),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
pub const LINEAR_GATED_Q8_0_R8_GELU_PYTORCH_TANH: Instance = Instance {
    name: "linear_gated_q8_0_r8_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q8_0_r8_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q8_0"),
        Parameter::number("rows", 8),
        Parameter::name("act", "gelu_pytorch_tanh"),
    ],
    shared_bytes: 0,
};
/// linear_gated: smollm2-135m-instruct.
pub const LINEAR_GATED_Q8_0_R8_SILU: Instance = Instance {
    name: "linear_gated_q8_0_r8_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_q8_0_r8_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "q8_0"),
        Parameter::number("rows", 8),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_0_R1: Instance = Instance {
    name: "linear_q4_0_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_0_r1.cubin")),
    manifest: &[Parameter::name("format", "q4_0"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_0_R16: Instance = Instance {
    name: "linear_q4_0_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_0_r16.cubin")),
    manifest: &[Parameter::name("format", "q4_0"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_0_R2: Instance = Instance {
    name: "linear_q4_0_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_0_r2.cubin")),
    manifest: &[Parameter::name("format", "q4_0"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_0_R4: Instance = Instance {
    name: "linear_q4_0_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_0_r4.cubin")),
    manifest: &[Parameter::name("format", "q4_0"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_0_R8: Instance = Instance {
    name: "linear_q4_0_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_0_r8.cubin")),
    manifest: &[Parameter::name("format", "q4_0"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_1_R1: Instance = Instance {
    name: "linear_q4_1_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_1_r1.cubin")),
    manifest: &[Parameter::name("format", "q4_1"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_1_R16: Instance = Instance {
    name: "linear_q4_1_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_1_r16.cubin")),
    manifest: &[Parameter::name("format", "q4_1"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_1_R2: Instance = Instance {
    name: "linear_q4_1_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_1_r2.cubin")),
    manifest: &[Parameter::name("format", "q4_1"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_1_R4: Instance = Instance {
    name: "linear_q4_1_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_1_r4.cubin")),
    manifest: &[Parameter::name("format", "q4_1"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q4_1_R8: Instance = Instance {
    name: "linear_q4_1_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_1_r8.cubin")),
    manifest: &[Parameter::name("format", "q4_1"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q4_K_R1: Instance = Instance {
    name: "linear_q4_k_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_k_r1.cubin")),
    manifest: &[Parameter::name("format", "q4_k"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q4_K_R16: Instance = Instance {
    name: "linear_q4_k_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_k_r16.cubin")),
    manifest: &[Parameter::name("format", "q4_k"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q4_K_R2: Instance = Instance {
    name: "linear_q4_k_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_k_r2.cubin")),
    manifest: &[Parameter::name("format", "q4_k"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q4_K_R4: Instance = Instance {
    name: "linear_q4_k_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_k_r4.cubin")),
    manifest: &[Parameter::name("format", "q4_k"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q4_K_R8: Instance = Instance {
    name: "linear_q4_k_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_k_r8.cubin")),
    manifest: &[Parameter::name("format", "q4_k"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_0_R1: Instance = Instance {
    name: "linear_q5_0_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_0_r1.cubin")),
    manifest: &[Parameter::name("format", "q5_0"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_0_R16: Instance = Instance {
    name: "linear_q5_0_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_0_r16.cubin")),
    manifest: &[Parameter::name("format", "q5_0"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_0_R2: Instance = Instance {
    name: "linear_q5_0_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_0_r2.cubin")),
    manifest: &[Parameter::name("format", "q5_0"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_0_R4: Instance = Instance {
    name: "linear_q5_0_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_0_r4.cubin")),
    manifest: &[Parameter::name("format", "q5_0"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_0_R8: Instance = Instance {
    name: "linear_q5_0_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_0_r8.cubin")),
    manifest: &[Parameter::name("format", "q5_0"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_1_R1: Instance = Instance {
    name: "linear_q5_1_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_1_r1.cubin")),
    manifest: &[Parameter::name("format", "q5_1"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_1_R16: Instance = Instance {
    name: "linear_q5_1_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_1_r16.cubin")),
    manifest: &[Parameter::name("format", "q5_1"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_1_R2: Instance = Instance {
    name: "linear_q5_1_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_1_r2.cubin")),
    manifest: &[Parameter::name("format", "q5_1"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_1_R4: Instance = Instance {
    name: "linear_q5_1_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_1_r4.cubin")),
    manifest: &[Parameter::name("format", "q5_1"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_1_R8: Instance = Instance {
    name: "linear_q5_1_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_1_r8.cubin")),
    manifest: &[Parameter::name("format", "q5_1"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_K_R1: Instance = Instance {
    name: "linear_q5_k_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_k_r1.cubin")),
    manifest: &[Parameter::name("format", "q5_k"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_K_R16: Instance = Instance {
    name: "linear_q5_k_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_k_r16.cubin")),
    manifest: &[Parameter::name("format", "q5_k"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_K_R2: Instance = Instance {
    name: "linear_q5_k_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_k_r2.cubin")),
    manifest: &[Parameter::name("format", "q5_k"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_K_R4: Instance = Instance {
    name: "linear_q5_k_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_k_r4.cubin")),
    manifest: &[Parameter::name("format", "q5_k"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q5_K_R8: Instance = Instance {
    name: "linear_q5_k_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_k_r8.cubin")),
    manifest: &[Parameter::name("format", "q5_k"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q6_K_R1: Instance = Instance {
    name: "linear_q6_k_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q6_k_r1.cubin")),
    manifest: &[Parameter::name("format", "q6_k"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q6_K_R16: Instance = Instance {
    name: "linear_q6_k_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q6_k_r16.cubin")),
    manifest: &[Parameter::name("format", "q6_k"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q6_K_R2: Instance = Instance {
    name: "linear_q6_k_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q6_k_r2.cubin")),
    manifest: &[Parameter::name("format", "q6_k"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q6_K_R4: Instance = Instance {
    name: "linear_q6_k_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q6_k_r4.cubin")),
    manifest: &[Parameter::name("format", "q6_k"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
pub const LINEAR_Q6_K_R8: Instance = Instance {
    name: "linear_q6_k_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q6_k_r8.cubin")),
    manifest: &[Parameter::name("format", "q6_k"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q8_0_R1: Instance = Instance {
    name: "linear_q8_0_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q8_0_r1.cubin")),
    manifest: &[Parameter::name("format", "q8_0"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q8_0_R16: Instance = Instance {
    name: "linear_q8_0_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q8_0_r16.cubin")),
    manifest: &[Parameter::name("format", "q8_0"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q8_0_R2: Instance = Instance {
    name: "linear_q8_0_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q8_0_r2.cubin")),
    manifest: &[Parameter::name("format", "q8_0"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q8_0_R4: Instance = Instance {
    name: "linear_q8_0_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q8_0_r4.cubin")),
    manifest: &[Parameter::name("format", "q8_0"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
pub const LINEAR_Q8_0_R8: Instance = Instance {
    name: "linear_q8_0_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q8_0_r8.cubin")),
    manifest: &[Parameter::name("format", "q8_0"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// rms_norm_add: gemma-3-270m.
pub const RMS_NORM_ADD_D640: Instance = Instance {
    name: "rms_norm_add_d640",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_add_d640.cubin")),
    manifest: &[Parameter::number("dim", 640)],
    shared_bytes: 0,
};
/// rms_norm_add_norm: gemma-3-270m.
pub const RMS_NORM_ADD_NORM_D640: Instance = Instance {
    name: "rms_norm_add_norm_d640",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_add_norm_d640.cubin")
    ),
    manifest: &[Parameter::number("dim", 640)],
    shared_bytes: 0,
};
/// rms_norm: qwen3-0.6b.
pub const RMS_NORM_F32_D1024: Instance = Instance {
    name: "rms_norm_f32_d1024",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_f32_d1024.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32"), Parameter::number("dim", 1024)],
    shared_bytes: 0,
};
/// rms_norm: llama-3.1-8b, qwen3-8b.
pub const RMS_NORM_F32_D4096: Instance = Instance {
    name: "rms_norm_f32_d4096",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_f32_d4096.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32"), Parameter::number("dim", 4096)],
    shared_bytes: 0,
};
/// rms_norm: smollm2-135m-instruct.
pub const RMS_NORM_F32_D576: Instance = Instance {
    name: "rms_norm_f32_d576",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_f32_d576.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32"), Parameter::number("dim", 576)],
    shared_bytes: 0,
};
/// rms_norm: gemma-3-270m.
pub const RMS_NORM_F32_D640: Instance = Instance {
    name: "rms_norm_f32_d640",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_f32_d640.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32"), Parameter::number("dim", 640)],
    shared_bytes: 0,
};
/// rope_angles: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const ROPE_ANGLES: Instance = Instance {
    name: "rope_angles",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rope_angles.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// rope_append: llama-3.1-8b.
pub const ROPE_APPEND_HD128_RD128_HALVES_NONE_BF16: Instance = Instance {
    name: "rope_append_hd128_rd128_halves_none_bf16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/rope_append_hd128_rd128_halves_none_bf16.cubin")
    ),
    manifest: &[
        Parameter::number("head_dim", 128),
        Parameter::number("rotary_dim", 128),
        Parameter::name("layout", "halves"),
        Parameter::name("norm", "none"),
        Parameter::name("kv_dtype", "bf16"),
    ],
    shared_bytes: 0,
};
/// rope_append: qwen3-0.6b, qwen3-8b.
pub const ROPE_APPEND_HD128_RD128_HALVES_QK_BF16: Instance = Instance {
    name: "rope_append_hd128_rd128_halves_qk_bf16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/rope_append_hd128_rd128_halves_qk_bf16.cubin")
    ),
    manifest: &[
        Parameter::number("head_dim", 128),
        Parameter::number("rotary_dim", 128),
        Parameter::name("layout", "halves"),
        Parameter::name("norm", "qk"),
        Parameter::name("kv_dtype", "bf16"),
    ],
    shared_bytes: 0,
};
/// rope_append: gemma-3-270m.
pub const ROPE_APPEND_HD256_RD256_HALVES_QK_BF16: Instance = Instance {
    name: "rope_append_hd256_rd256_halves_qk_bf16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/rope_append_hd256_rd256_halves_qk_bf16.cubin")
    ),
    manifest: &[
        Parameter::number("head_dim", 256),
        Parameter::number("rotary_dim", 256),
        Parameter::name("layout", "halves"),
        Parameter::name("norm", "qk"),
        Parameter::name("kv_dtype", "bf16"),
    ],
    shared_bytes: 0,
};
/// rope_append: smollm2-135m-instruct.
pub const ROPE_APPEND_HD64_RD64_HALVES_NONE_BF16: Instance = Instance {
    name: "rope_append_hd64_rd64_halves_none_bf16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/rope_append_hd64_rd64_halves_none_bf16.cubin")
    ),
    manifest: &[
        Parameter::number("head_dim", 64),
        Parameter::number("rotary_dim", 64),
        Parameter::name("layout", "halves"),
        Parameter::name("norm", "none"),
        Parameter::name("kv_dtype", "bf16"),
    ],
    shared_bytes: 0,
};
/// sample: gemma-3-270m, llama-3.1-8b, qwen3-0.6b, qwen3-8b, smollm2-135m-instruct.
pub const SAMPLE: Instance = Instance {
    name: "sample",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/sample.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// scale: gemma-3-270m.
pub const SCALE: Instance = Instance {
    name: "scale",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/scale.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
