//! Every instance of a kernel that a model of this crate launches, with the models that do.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::{Instance, Parameter};

/// act_mul: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const ACT_MUL_GELU_PYTORCH_TANH: Instance = Instance {
    name: "act_mul_gelu_pytorch_tanh",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/act_mul_gelu_pytorch_tanh.cubin")
    ),
    manifest: &[Parameter::name("act", "gelu_pytorch_tanh")],
    shared_bytes: 0,
};
/// act_mul: bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const ACT_MUL_SILU: Instance = Instance {
    name: "act_mul_silu",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/act_mul_silu.cubin")),
    manifest: &[Parameter::name("act", "silu")],
    shared_bytes: 0,
};
/// act: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const ACT_RELU2: Instance = Instance {
    name: "act_relu2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/act_relu2.cubin")),
    manifest: &[Parameter::name("act", "relu2")],
    shared_bytes: 0,
};
/// add: bard-mla, deepseek-v3, gpt-oss-20b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "gpt_oss_20b",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_5_122b_a10b"
    )
)]
pub const ADD: Instance = Instance {
    name: "add",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/add.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// add_bias: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const ADD_BIAS_BF16: Instance = Instance {
    name: "add_bias_bf16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/add_bias_bf16.cubin")),
    manifest: &[Parameter::name("x_dtype", "bf16")],
    shared_bytes: 0,
};
/// add_bias: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const ADD_BIAS_F32: Instance = Instance {
    name: "add_bias_f32",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/add_bias_f32.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32")],
    shared_bytes: 0,
};
/// argmax: bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const ARGMAX: Instance = Instance {
    name: "argmax",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/argmax.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// attention_decode: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const ATTENTION_DECODE_BF16_HD128_G16_TK64: Instance = Instance {
    name: "attention_decode_bf16_hd128_g16_tk64",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/attention_decode_bf16_hd128_g16_tk64.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 128),
        Parameter::number("group", 16),
        Parameter::number("tile_kv", 64),
    ],
    shared_bytes: 108800,
};
/// attention_decode: qwen3-0.6b.
#[cfg(any(tenon_model = "qwen3_0_6b"))]
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
#[cfg(any(tenon_model = "llama_3_1_8b", tenon_model = "qwen3_8b"))]
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
/// attention_decode: qwen3.5-122b-a10b.
#[cfg(any(tenon_model = "qwen3_5_122b_a10b"))]
pub const ATTENTION_DECODE_BF16_HD256_G16_TK64: Instance = Instance {
    name: "attention_decode_bf16_hd256_g16_tk64",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/attention_decode_bf16_hd256_g16_tk64.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 256),
        Parameter::number("group", 16),
        Parameter::number("tile_kv", 64),
    ],
    shared_bytes: 109824,
};
/// attention_decode: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
/// attention_decode: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const ATTENTION_DECODE_BF16_HD64_G8_TK64: Instance = Instance {
    name: "attention_decode_bf16_hd64_g8_tk64",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/attention_decode_bf16_hd64_g8_tk64.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 64),
        Parameter::number("group", 8),
        Parameter::number("tile_kv", 64),
    ],
    shared_bytes: 57600,
};
/// attention_prefill: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const ATTENTION_PREFILL_BF16_HD128_G16_TQ128_TK128: Instance = Instance {
    name: "attention_prefill_bf16_hd128_g16_tq128_tk128",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/attention_prefill_bf16_hd128_g16_tq128_tk128.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 128),
        Parameter::number("group", 16),
        Parameter::number("tile_q", 128),
        Parameter::number("tile_kv", 128),
    ],
    shared_bytes: 165120,
};
/// attention_prefill: qwen3-0.6b.
#[cfg(any(tenon_model = "qwen3_0_6b"))]
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
#[cfg(any(tenon_model = "llama_3_1_8b", tenon_model = "qwen3_8b"))]
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
/// attention_prefill: qwen3.5-122b-a10b.
#[cfg(any(tenon_model = "qwen3_5_122b_a10b"))]
pub const ATTENTION_PREFILL_BF16_HD256_G16_TQ128_TK128: Instance = Instance {
    name: "attention_prefill_bf16_hd256_g16_tq128_tk128",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/attention_prefill_bf16_hd256_g16_tq128_tk128.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 256),
        Parameter::number("group", 16),
        Parameter::number("tile_q", 128),
        Parameter::number("tile_kv", 128),
    ],
    shared_bytes: 197760,
};
/// attention_prefill: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
/// attention_prefill: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const ATTENTION_PREFILL_BF16_HD64_G8_TQ128_TK128: Instance = Instance {
    name: "attention_prefill_bf16_hd64_g8_tq128_tk128",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/attention_prefill_bf16_hd64_g8_tq128_tk128.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("head_dim", 64),
        Parameter::number("group", 8),
        Parameter::number("tile_q", 128),
        Parameter::number("tile_kv", 128),
    ],
    shared_bytes: 83200,
};
/// causal_conv_decode: nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
#[cfg(
    any(tenon_model = "nemotron_3_super_120b_a12b", tenon_model = "qwen3_5_122b_a10b")
)]
pub const CAUSAL_CONV_DECODE_CK4: Instance = Instance {
    name: "causal_conv_decode_ck4",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/causal_conv_decode_ck4.cubin")
    ),
    manifest: &[Parameter::number("conv_kernel", 4)],
    shared_bytes: 0,
};
/// causal_conv_prefill: nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
#[cfg(
    any(tenon_model = "nemotron_3_super_120b_a12b", tenon_model = "qwen3_5_122b_a10b")
)]
pub const CAUSAL_CONV_PREFILL_CK4: Instance = Instance {
    name: "causal_conv_prefill_ck4",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/causal_conv_prefill_ck4.cubin")
    ),
    manifest: &[Parameter::number("conv_kernel", 4)],
    shared_bytes: 0,
};
/// delta_decode: qwen3.5-122b-a10b.
#[cfg(any(tenon_model = "qwen3_5_122b_a10b"))]
pub const DELTA_DECODE_KD128_VD128: Instance = Instance {
    name: "delta_decode_kd128_vd128",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/delta_decode_kd128_vd128.cubin")
    ),
    manifest: &[Parameter::number("key_dim", 128), Parameter::number("value_dim", 128)],
    shared_bytes: 0,
};
/// delta_prefill: qwen3.5-122b-a10b.
#[cfg(any(tenon_model = "qwen3_5_122b_a10b"))]
pub const DELTA_PREFILL_KD128_VD128_C64: Instance = Instance {
    name: "delta_prefill_kd128_vd128_c64",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/delta_prefill_kd128_vd128_c64.cubin")
    ),
    manifest: &[
        Parameter::number("key_dim", 128),
        Parameter::number("value_dim", 128),
        Parameter::number("chunk", 64),
    ],
    shared_bytes: 169504,
};
/// dequantise: gemma-3-270m, llama-3.1-8b, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const DEQUANTISE_F16: Instance = Instance {
    name: "dequantise_f16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_f16.cubin")),
    manifest: &[Parameter::name("format", "f16")],
    shared_bytes: 0,
};
/// dequantise: bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const DEQUANTISE_F32: Instance = Instance {
    name: "dequantise_f32",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_f32.cubin")),
    manifest: &[Parameter::name("format", "f32")],
    shared_bytes: 0,
};
/// dequantise: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const DEQUANTISE_FP8_E4M3: Instance = Instance {
    name: "dequantise_fp8_e4m3",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_fp8_e4m3.cubin")),
    manifest: &[Parameter::name("format", "fp8_e4m3")],
    shared_bytes: 0,
};
/// dequantise: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const DEQUANTISE_MXFP4: Instance = Instance {
    name: "dequantise_mxfp4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_mxfp4.cubin")),
    manifest: &[Parameter::name("format", "mxfp4")],
    shared_bytes: 0,
};
/// dequantise: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const DEQUANTISE_NVFP4: Instance = Instance {
    name: "dequantise_nvfp4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_nvfp4.cubin")),
    manifest: &[Parameter::name("format", "nvfp4")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const DEQUANTISE_Q4_0: Instance = Instance {
    name: "dequantise_q4_0",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q4_0.cubin")),
    manifest: &[Parameter::name("format", "q4_0")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const DEQUANTISE_Q4_1: Instance = Instance {
    name: "dequantise_q4_1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q4_1.cubin")),
    manifest: &[Parameter::name("format", "q4_1")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const DEQUANTISE_Q4_K: Instance = Instance {
    name: "dequantise_q4_k",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q4_k.cubin")),
    manifest: &[Parameter::name("format", "q4_k")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const DEQUANTISE_Q5_0: Instance = Instance {
    name: "dequantise_q5_0",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q5_0.cubin")),
    manifest: &[Parameter::name("format", "q5_0")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const DEQUANTISE_Q5_1: Instance = Instance {
    name: "dequantise_q5_1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q5_1.cubin")),
    manifest: &[Parameter::name("format", "q5_1")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const DEQUANTISE_Q5_K: Instance = Instance {
    name: "dequantise_q5_k",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q5_k.cubin")),
    manifest: &[Parameter::name("format", "q5_k")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const DEQUANTISE_Q6_K: Instance = Instance {
    name: "dequantise_q6_k",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q6_k.cubin")),
    manifest: &[Parameter::name("format", "q6_k")],
    shared_bytes: 0,
};
/// dequantise: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const DEQUANTISE_Q8_0: Instance = Instance {
    name: "dequantise_q8_0",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_q8_0.cubin")),
    manifest: &[Parameter::name("format", "q8_0")],
    shared_bytes: 0,
};
/// embedding: bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const EMBEDDING_BF16: Instance = Instance {
    name: "embedding_bf16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_bf16.cubin")),
    manifest: &[Parameter::name("format", "bf16")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m, llama-3.1-8b, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const EMBEDDING_F16: Instance = Instance {
    name: "embedding_f16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_f16.cubin")),
    manifest: &[Parameter::name("format", "f16")],
    shared_bytes: 0,
};
/// embedding: bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const EMBEDDING_F32: Instance = Instance {
    name: "embedding_f32",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_f32.cubin")),
    manifest: &[Parameter::name("format", "f32")],
    shared_bytes: 0,
};
/// embedding: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const EMBEDDING_FP8_E4M3: Instance = Instance {
    name: "embedding_fp8_e4m3",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_fp8_e4m3.cubin")),
    manifest: &[Parameter::name("format", "fp8_e4m3")],
    shared_bytes: 0,
};
/// embedding: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const EMBEDDING_MXFP4: Instance = Instance {
    name: "embedding_mxfp4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_mxfp4.cubin")),
    manifest: &[Parameter::name("format", "mxfp4")],
    shared_bytes: 0,
};
/// embedding: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const EMBEDDING_NVFP4: Instance = Instance {
    name: "embedding_nvfp4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_nvfp4.cubin")),
    manifest: &[Parameter::name("format", "nvfp4")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const EMBEDDING_Q4_0: Instance = Instance {
    name: "embedding_q4_0",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q4_0.cubin")),
    manifest: &[Parameter::name("format", "q4_0")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const EMBEDDING_Q4_1: Instance = Instance {
    name: "embedding_q4_1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q4_1.cubin")),
    manifest: &[Parameter::name("format", "q4_1")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const EMBEDDING_Q4_K: Instance = Instance {
    name: "embedding_q4_k",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q4_k.cubin")),
    manifest: &[Parameter::name("format", "q4_k")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const EMBEDDING_Q5_0: Instance = Instance {
    name: "embedding_q5_0",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q5_0.cubin")),
    manifest: &[Parameter::name("format", "q5_0")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const EMBEDDING_Q5_1: Instance = Instance {
    name: "embedding_q5_1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q5_1.cubin")),
    manifest: &[Parameter::name("format", "q5_1")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const EMBEDDING_Q5_K: Instance = Instance {
    name: "embedding_q5_k",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q5_k.cubin")),
    manifest: &[Parameter::name("format", "q5_k")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const EMBEDDING_Q6_K: Instance = Instance {
    name: "embedding_q6_k",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q6_k.cubin")),
    manifest: &[Parameter::name("format", "q6_k")],
    shared_bytes: 0,
};
/// embedding: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const EMBEDDING_Q8_0: Instance = Instance {
    name: "embedding_q8_0",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_q8_0.cubin")),
    manifest: &[Parameter::name("format", "q8_0")],
    shared_bytes: 0,
};
/// expert_tiles: mistral-small-4, mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4", tenon_model = "mistral_small_4_nvfp4"))]
pub const EXPERT_TILES_E128: Instance = Instance {
    name: "expert_tiles_e128",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/expert_tiles_e128.cubin")),
    manifest: &[Parameter::number("experts", 128)],
    shared_bytes: 16384,
};
/// expert_tiles: deepseek-v3, qwen3.5-122b-a10b.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "qwen3_5_122b_a10b"))]
pub const EXPERT_TILES_E256: Instance = Instance {
    name: "expert_tiles_e256",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/expert_tiles_e256.cubin")),
    manifest: &[Parameter::number("experts", 256)],
    shared_bytes: 32768,
};
/// expert_tiles: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const EXPERT_TILES_E32: Instance = Instance {
    name: "expert_tiles_e32",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/expert_tiles_e32.cubin")),
    manifest: &[Parameter::number("experts", 32)],
    shared_bytes: 4096,
};
/// expert_tiles: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const EXPERT_TILES_E4: Instance = Instance {
    name: "expert_tiles_e4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/expert_tiles_e4.cubin")),
    manifest: &[Parameter::number("experts", 4)],
    shared_bytes: 512,
};
/// expert_tiles: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const EXPERT_TILES_E512: Instance = Instance {
    name: "expert_tiles_e512",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/expert_tiles_e512.cubin")),
    manifest: &[Parameter::number("experts", 512)],
    shared_bytes: 65536,
};
/// experts_down_few: bard-mla, deepseek-v3, gpt-oss-20b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "gpt_oss_20b",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_5_122b_a10b"
    )
)]
pub const EXPERTS_DOWN_FEW_BF16: Instance = Instance {
    name: "experts_down_few_bf16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_down_few_bf16.cubin")
    ),
    manifest: &[Parameter::name("format", "bf16")],
    shared_bytes: 0,
};
/// experts_down_few: nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
#[cfg(
    any(tenon_model = "nemotron_3_super_120b_a12b", tenon_model = "qwen3_5_122b_a10b")
)]
pub const EXPERTS_DOWN_FEW_F16: Instance = Instance {
    name: "experts_down_few_f16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_down_few_f16.cubin")
    ),
    manifest: &[Parameter::name("format", "f16")],
    shared_bytes: 0,
};
/// experts_down_few: bard-mla, deepseek-v3, mistral-small-4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "mistral_small_4",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_5_122b_a10b"
    )
)]
pub const EXPERTS_DOWN_FEW_F32: Instance = Instance {
    name: "experts_down_few_f32",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_down_few_f32.cubin")
    ),
    manifest: &[Parameter::name("format", "f32")],
    shared_bytes: 0,
};
/// experts_down_few: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const EXPERTS_DOWN_FEW_FP8_E4M3: Instance = Instance {
    name: "experts_down_few_fp8_e4m3",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_down_few_fp8_e4m3.cubin")
    ),
    manifest: &[Parameter::name("format", "fp8_e4m3")],
    shared_bytes: 0,
};
/// experts_down_few: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const EXPERTS_DOWN_FEW_MXFP4: Instance = Instance {
    name: "experts_down_few_mxfp4",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_down_few_mxfp4.cubin")
    ),
    manifest: &[Parameter::name("format", "mxfp4")],
    shared_bytes: 0,
};
/// experts_down_few: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const EXPERTS_DOWN_FEW_NVFP4: Instance = Instance {
    name: "experts_down_few_nvfp4",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_down_few_nvfp4.cubin")
    ),
    manifest: &[Parameter::name("format", "nvfp4")],
    shared_bytes: 0,
};
/// experts_down_many: bard-mla, deepseek-v3, gpt-oss-20b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "gpt_oss_20b",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_5_122b_a10b"
    )
)]
pub const EXPERTS_DOWN_MANY_BF16: Instance = Instance {
    name: "experts_down_many_bf16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_down_many_bf16.cubin")
    ),
    manifest: &[Parameter::name("format", "bf16")],
    shared_bytes: 98304,
};
/// experts_down_many: nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
#[cfg(
    any(tenon_model = "nemotron_3_super_120b_a12b", tenon_model = "qwen3_5_122b_a10b")
)]
pub const EXPERTS_DOWN_MANY_F16: Instance = Instance {
    name: "experts_down_many_f16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_down_many_f16.cubin")
    ),
    manifest: &[Parameter::name("format", "f16")],
    shared_bytes: 98304,
};
/// experts_down_many: bard-mla, deepseek-v3, mistral-small-4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "mistral_small_4",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_5_122b_a10b"
    )
)]
pub const EXPERTS_DOWN_MANY_F32: Instance = Instance {
    name: "experts_down_many_f32",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_down_many_f32.cubin")
    ),
    manifest: &[Parameter::name("format", "f32")],
    shared_bytes: 98304,
};
/// experts_down_many: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const EXPERTS_DOWN_MANY_FP8_E4M3: Instance = Instance {
    name: "experts_down_many_fp8_e4m3",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_down_many_fp8_e4m3.cubin")
    ),
    manifest: &[Parameter::name("format", "fp8_e4m3")],
    shared_bytes: 98304,
};
/// experts_down_many: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const EXPERTS_DOWN_MANY_MXFP4: Instance = Instance {
    name: "experts_down_many_mxfp4",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_down_many_mxfp4.cubin")
    ),
    manifest: &[Parameter::name("format", "mxfp4")],
    shared_bytes: 98304,
};
/// experts_down_many: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const EXPERTS_DOWN_MANY_NVFP4: Instance = Instance {
    name: "experts_down_many_nvfp4",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_down_many_nvfp4.cubin")
    ),
    manifest: &[Parameter::name("format", "nvfp4")],
    shared_bytes: 98304,
};
/// experts_sum: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const EXPERTS_SUM_BF16_BF16: Instance = Instance {
    name: "experts_sum_bf16_bf16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_sum_bf16_bf16.cubin")
    ),
    manifest: &[
        Parameter::name("rows_dtype", "bf16"),
        Parameter::name("out_dtype", "bf16"),
    ],
    shared_bytes: 0,
};
/// experts_sum: bard-mla, deepseek-v3, gpt-oss-20b, mistral-small-4, mistral-small-4-nvfp4, qwen3.5-122b-a10b.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "gpt_oss_20b",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "qwen3_5_122b_a10b"
    )
)]
pub const EXPERTS_SUM_BF16_F32: Instance = Instance {
    name: "experts_sum_bf16_f32",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_sum_bf16_f32.cubin")
    ),
    manifest: &[
        Parameter::name("rows_dtype", "bf16"),
        Parameter::name("out_dtype", "f32"),
    ],
    shared_bytes: 0,
};
/// experts_sum: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const EXPERTS_SUM_F32_BF16: Instance = Instance {
    name: "experts_sum_f32_bf16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_sum_f32_bf16.cubin")
    ),
    manifest: &[
        Parameter::name("rows_dtype", "f32"),
        Parameter::name("out_dtype", "bf16"),
    ],
    shared_bytes: 0,
};
/// experts_sum: bard-mla, deepseek-v3, gpt-oss-20b, mistral-small-4, mistral-small-4-nvfp4, qwen3.5-122b-a10b.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "gpt_oss_20b",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "qwen3_5_122b_a10b"
    )
)]
pub const EXPERTS_SUM_F32_F32: Instance = Instance {
    name: "experts_sum_f32_f32",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/experts_sum_f32_f32.cubin")),
    manifest: &[
        Parameter::name("rows_dtype", "f32"),
        Parameter::name("out_dtype", "f32"),
    ],
    shared_bytes: 0,
};
/// experts_up_few: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const EXPERTS_UP_FEW_BF16_CLAMPED_SILU: Instance = Instance {
    name: "experts_up_few_bf16_clamped_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_few_bf16_clamped_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::name("form", "clamped"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// experts_up_few: bard-mla, deepseek-v3, mistral-small-4, mistral-small-4-nvfp4, qwen3.5-122b-a10b.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "qwen3_5_122b_a10b"
    )
)]
pub const EXPERTS_UP_FEW_BF16_GATED_SILU: Instance = Instance {
    name: "experts_up_few_bf16_gated_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_few_bf16_gated_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::name("form", "gated"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// experts_up_few: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const EXPERTS_UP_FEW_BF16_PLAIN_RELU2: Instance = Instance {
    name: "experts_up_few_bf16_plain_relu2",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_few_bf16_plain_relu2.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::name("form", "plain"),
        Parameter::name("act", "relu2"),
    ],
    shared_bytes: 0,
};
/// experts_up_few: qwen3.5-122b-a10b.
#[cfg(any(tenon_model = "qwen3_5_122b_a10b"))]
pub const EXPERTS_UP_FEW_F16_GATED_SILU: Instance = Instance {
    name: "experts_up_few_f16_gated_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_few_f16_gated_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::name("form", "gated"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// experts_up_few: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const EXPERTS_UP_FEW_F16_PLAIN_RELU2: Instance = Instance {
    name: "experts_up_few_f16_plain_relu2",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_few_f16_plain_relu2.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::name("form", "plain"),
        Parameter::name("act", "relu2"),
    ],
    shared_bytes: 0,
};
/// experts_up_few: bard-mla, deepseek-v3, mistral-small-4, qwen3.5-122b-a10b.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "mistral_small_4",
        tenon_model = "qwen3_5_122b_a10b"
    )
)]
pub const EXPERTS_UP_FEW_F32_GATED_SILU: Instance = Instance {
    name: "experts_up_few_f32_gated_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_few_f32_gated_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::name("form", "gated"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// experts_up_few: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const EXPERTS_UP_FEW_F32_PLAIN_RELU2: Instance = Instance {
    name: "experts_up_few_f32_plain_relu2",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_few_f32_plain_relu2.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::name("form", "plain"),
        Parameter::name("act", "relu2"),
    ],
    shared_bytes: 0,
};
/// experts_up_few: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const EXPERTS_UP_FEW_FP8_E4M3_GATED_SILU: Instance = Instance {
    name: "experts_up_few_fp8_e4m3_gated_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_few_fp8_e4m3_gated_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "fp8_e4m3"),
        Parameter::name("form", "gated"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// experts_up_few: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const EXPERTS_UP_FEW_MXFP4_CLAMPED_SILU: Instance = Instance {
    name: "experts_up_few_mxfp4_clamped_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_few_mxfp4_clamped_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "mxfp4"),
        Parameter::name("form", "clamped"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// experts_up_few: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const EXPERTS_UP_FEW_NVFP4_GATED_SILU: Instance = Instance {
    name: "experts_up_few_nvfp4_gated_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_few_nvfp4_gated_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "nvfp4"),
        Parameter::name("form", "gated"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// experts_up_many: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const EXPERTS_UP_MANY_BF16_CLAMPED_SILU: Instance = Instance {
    name: "experts_up_many_bf16_clamped_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_many_bf16_clamped_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::name("form", "clamped"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 98304,
};
/// experts_up_many: bard-mla, deepseek-v3, mistral-small-4, mistral-small-4-nvfp4, qwen3.5-122b-a10b.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "qwen3_5_122b_a10b"
    )
)]
pub const EXPERTS_UP_MANY_BF16_GATED_SILU: Instance = Instance {
    name: "experts_up_many_bf16_gated_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_many_bf16_gated_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::name("form", "gated"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 98304,
};
/// experts_up_many: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const EXPERTS_UP_MANY_BF16_PLAIN_RELU2: Instance = Instance {
    name: "experts_up_many_bf16_plain_relu2",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_many_bf16_plain_relu2.cubin")
    ),
    manifest: &[
        Parameter::name("format", "bf16"),
        Parameter::name("form", "plain"),
        Parameter::name("act", "relu2"),
    ],
    shared_bytes: 98304,
};
/// experts_up_many: qwen3.5-122b-a10b.
#[cfg(any(tenon_model = "qwen3_5_122b_a10b"))]
pub const EXPERTS_UP_MANY_F16_GATED_SILU: Instance = Instance {
    name: "experts_up_many_f16_gated_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_many_f16_gated_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::name("form", "gated"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 98304,
};
/// experts_up_many: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const EXPERTS_UP_MANY_F16_PLAIN_RELU2: Instance = Instance {
    name: "experts_up_many_f16_plain_relu2",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_many_f16_plain_relu2.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f16"),
        Parameter::name("form", "plain"),
        Parameter::name("act", "relu2"),
    ],
    shared_bytes: 98304,
};
/// experts_up_many: bard-mla, deepseek-v3, mistral-small-4, qwen3.5-122b-a10b.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "mistral_small_4",
        tenon_model = "qwen3_5_122b_a10b"
    )
)]
pub const EXPERTS_UP_MANY_F32_GATED_SILU: Instance = Instance {
    name: "experts_up_many_f32_gated_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_many_f32_gated_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::name("form", "gated"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 98304,
};
/// experts_up_many: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const EXPERTS_UP_MANY_F32_PLAIN_RELU2: Instance = Instance {
    name: "experts_up_many_f32_plain_relu2",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_many_f32_plain_relu2.cubin")
    ),
    manifest: &[
        Parameter::name("format", "f32"),
        Parameter::name("form", "plain"),
        Parameter::name("act", "relu2"),
    ],
    shared_bytes: 98304,
};
/// experts_up_many: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const EXPERTS_UP_MANY_FP8_E4M3_GATED_SILU: Instance = Instance {
    name: "experts_up_many_fp8_e4m3_gated_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_many_fp8_e4m3_gated_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "fp8_e4m3"),
        Parameter::name("form", "gated"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 98304,
};
/// experts_up_many: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const EXPERTS_UP_MANY_MXFP4_CLAMPED_SILU: Instance = Instance {
    name: "experts_up_many_mxfp4_clamped_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_many_mxfp4_clamped_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "mxfp4"),
        Parameter::name("form", "clamped"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 98304,
};
/// experts_up_many: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const EXPERTS_UP_MANY_NVFP4_GATED_SILU: Instance = Instance {
    name: "experts_up_many_nvfp4_gated_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/experts_up_many_nvfp4_gated_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "nvfp4"),
        Parameter::name("form", "gated"),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 98304,
};
/// gated_group_norm: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const GATED_GROUP_NORM_D8192_G8: Instance = Instance {
    name: "gated_group_norm_d8192_g8",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/gated_group_norm_d8192_g8.cubin")
    ),
    manifest: &[Parameter::number("dim", 8192), Parameter::number("groups", 8)],
    shared_bytes: 0,
};
/// gated_head_norm: qwen3.5-122b-a10b.
#[cfg(any(tenon_model = "qwen3_5_122b_a10b"))]
pub const GATED_HEAD_NORM_HD128: Instance = Instance {
    name: "gated_head_norm_hd128",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/gated_head_norm_hd128.cubin")
    ),
    manifest: &[Parameter::number("head_dim", 128)],
    shared_bytes: 0,
};
/// gather_logit_rows: bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const GATHER_LOGIT_ROWS: Instance = Instance {
    name: "gather_logit_rows",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/gather_logit_rows.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// kv_append: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const KV_APPEND_HD128_BF16: Instance = Instance {
    name: "kv_append_hd128_bf16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/kv_append_hd128_bf16.cubin")
    ),
    manifest: &[Parameter::number("head_dim", 128), Parameter::name("kv_dtype", "bf16")],
    shared_bytes: 0,
};
/// latent_append: mistral-small-4, mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4", tenon_model = "mistral_small_4_nvfp4"))]
pub const LATENT_APPEND_KLR256_QRHD64_INTERLEAVED_BF16: Instance = Instance {
    name: "latent_append_klr256_qrhd64_interleaved_bf16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/latent_append_klr256_qrhd64_interleaved_bf16.cubin")
    ),
    manifest: &[
        Parameter::number("kv_lora_rank", 256),
        Parameter::number("qk_rope_head_dim", 64),
        Parameter::name("layout", "interleaved"),
        Parameter::name("kv_dtype", "bf16"),
    ],
    shared_bytes: 0,
};
/// latent_append: deepseek-v3.
#[cfg(any(tenon_model = "deepseek_v3"))]
pub const LATENT_APPEND_KLR512_QRHD64_INTERLEAVED_BF16: Instance = Instance {
    name: "latent_append_klr512_qrhd64_interleaved_bf16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/latent_append_klr512_qrhd64_interleaved_bf16.cubin")
    ),
    manifest: &[
        Parameter::number("kv_lora_rank", 512),
        Parameter::number("qk_rope_head_dim", 64),
        Parameter::name("layout", "interleaved"),
        Parameter::name("kv_dtype", "bf16"),
    ],
    shared_bytes: 0,
};
/// latent_append: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const LATENT_APPEND_KLR64_QRHD32_INTERLEAVED_BF16: Instance = Instance {
    name: "latent_append_klr64_qrhd32_interleaved_bf16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/latent_append_klr64_qrhd32_interleaved_bf16.cubin")
    ),
    manifest: &[
        Parameter::number("kv_lora_rank", 64),
        Parameter::number("qk_rope_head_dim", 32),
        Parameter::name("layout", "interleaved"),
        Parameter::name("kv_dtype", "bf16"),
    ],
    shared_bytes: 0,
};
/// latent_append: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const LATENT_APPEND_KLR64_QRHD32_INTERLEAVED_FP8_E4M3: Instance = Instance {
    name: "latent_append_klr64_qrhd32_interleaved_fp8_e4m3",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/latent_append_klr64_qrhd32_interleaved_fp8_e4m3.cubin")
    ),
    manifest: &[
        Parameter::number("kv_lora_rank", 64),
        Parameter::number("qk_rope_head_dim", 32),
        Parameter::name("layout", "interleaved"),
        Parameter::name("kv_dtype", "fp8_e4m3"),
    ],
    shared_bytes: 0,
};
/// linear: bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_BF16_R1: Instance = Instance {
    name: "linear_bf16_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r1.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_BF16_R16: Instance = Instance {
    name: "linear_bf16_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r16.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_BF16_R2: Instance = Instance {
    name: "linear_bf16_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r2.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_BF16_R4: Instance = Instance {
    name: "linear_bf16_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r4.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const LINEAR_BF16_R8: Instance = Instance {
    name: "linear_bf16_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r8.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const LINEAR_F16_R1: Instance = Instance {
    name: "linear_f16_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r1.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const LINEAR_F16_R16: Instance = Instance {
    name: "linear_f16_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r16.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const LINEAR_F16_R2: Instance = Instance {
    name: "linear_f16_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r2.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const LINEAR_F16_R4: Instance = Instance {
    name: "linear_f16_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r4.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, llama-3.1-8b, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const LINEAR_F16_R8: Instance = Instance {
    name: "linear_f16_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r8.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const LINEAR_F32_R1: Instance = Instance {
    name: "linear_f32_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r1.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const LINEAR_F32_R16: Instance = Instance {
    name: "linear_f32_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r16.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const LINEAR_F32_R2: Instance = Instance {
    name: "linear_f32_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r2.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const LINEAR_F32_R4: Instance = Instance {
    name: "linear_f32_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r4.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "gemma_3_270m",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const LINEAR_F32_R8: Instance = Instance {
    name: "linear_f32_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r8.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const LINEAR_FP8_E4M3_R1: Instance = Instance {
    name: "linear_fp8_e4m3_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_fp8_e4m3_r1.cubin")),
    manifest: &[Parameter::name("format", "fp8_e4m3"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const LINEAR_FP8_E4M3_R16: Instance = Instance {
    name: "linear_fp8_e4m3_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_fp8_e4m3_r16.cubin")),
    manifest: &[Parameter::name("format", "fp8_e4m3"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const LINEAR_FP8_E4M3_R2: Instance = Instance {
    name: "linear_fp8_e4m3_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_fp8_e4m3_r2.cubin")),
    manifest: &[Parameter::name("format", "fp8_e4m3"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const LINEAR_FP8_E4M3_R4: Instance = Instance {
    name: "linear_fp8_e4m3_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_fp8_e4m3_r4.cubin")),
    manifest: &[Parameter::name("format", "fp8_e4m3"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const LINEAR_FP8_E4M3_R8: Instance = Instance {
    name: "linear_fp8_e4m3_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_fp8_e4m3_r8.cubin")),
    manifest: &[Parameter::name("format", "fp8_e4m3"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "llama_3_1_8b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "llama_3_1_8b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "llama_3_1_8b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "llama_3_1_8b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: llama-3.1-8b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "llama_3_1_8b",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// linear_gated: bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
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
/// linear_gated: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const LINEAR_GATED_FP8_E4M3_R16_SILU: Instance = Instance {
    name: "linear_gated_fp8_e4m3_r16_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_fp8_e4m3_r16_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "fp8_e4m3"),
        Parameter::number("rows", 16),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const LINEAR_GATED_FP8_E4M3_R1_SILU: Instance = Instance {
    name: "linear_gated_fp8_e4m3_r1_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_fp8_e4m3_r1_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "fp8_e4m3"),
        Parameter::number("rows", 1),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const LINEAR_GATED_FP8_E4M3_R2_SILU: Instance = Instance {
    name: "linear_gated_fp8_e4m3_r2_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_fp8_e4m3_r2_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "fp8_e4m3"),
        Parameter::number("rows", 2),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const LINEAR_GATED_FP8_E4M3_R4_SILU: Instance = Instance {
    name: "linear_gated_fp8_e4m3_r4_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_fp8_e4m3_r4_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "fp8_e4m3"),
        Parameter::number("rows", 4),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: deepseek-v3, mistral-small-4.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "mistral_small_4"))]
pub const LINEAR_GATED_FP8_E4M3_R8_SILU: Instance = Instance {
    name: "linear_gated_fp8_e4m3_r8_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_fp8_e4m3_r8_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "fp8_e4m3"),
        Parameter::number("rows", 8),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const LINEAR_GATED_NVFP4_R16_SILU: Instance = Instance {
    name: "linear_gated_nvfp4_r16_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_nvfp4_r16_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "nvfp4"),
        Parameter::number("rows", 16),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const LINEAR_GATED_NVFP4_R1_SILU: Instance = Instance {
    name: "linear_gated_nvfp4_r1_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_nvfp4_r1_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "nvfp4"),
        Parameter::number("rows", 1),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const LINEAR_GATED_NVFP4_R2_SILU: Instance = Instance {
    name: "linear_gated_nvfp4_r2_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_nvfp4_r2_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "nvfp4"),
        Parameter::number("rows", 2),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const LINEAR_GATED_NVFP4_R4_SILU: Instance = Instance {
    name: "linear_gated_nvfp4_r4_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_nvfp4_r4_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "nvfp4"),
        Parameter::number("rows", 4),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const LINEAR_GATED_NVFP4_R8_SILU: Instance = Instance {
    name: "linear_gated_nvfp4_r8_silu",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/linear_gated_nvfp4_r8_silu.cubin")
    ),
    manifest: &[
        Parameter::name("format", "nvfp4"),
        Parameter::number("rows", 8),
        Parameter::name("act", "silu"),
    ],
    shared_bytes: 0,
};
/// linear_gated: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
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
/// linear: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const LINEAR_MXFP4_R1: Instance = Instance {
    name: "linear_mxfp4_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_mxfp4_r1.cubin")),
    manifest: &[Parameter::name("format", "mxfp4"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const LINEAR_MXFP4_R16: Instance = Instance {
    name: "linear_mxfp4_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_mxfp4_r16.cubin")),
    manifest: &[Parameter::name("format", "mxfp4"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const LINEAR_MXFP4_R2: Instance = Instance {
    name: "linear_mxfp4_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_mxfp4_r2.cubin")),
    manifest: &[Parameter::name("format", "mxfp4"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const LINEAR_MXFP4_R4: Instance = Instance {
    name: "linear_mxfp4_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_mxfp4_r4.cubin")),
    manifest: &[Parameter::name("format", "mxfp4"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const LINEAR_MXFP4_R8: Instance = Instance {
    name: "linear_mxfp4_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_mxfp4_r8.cubin")),
    manifest: &[Parameter::name("format", "mxfp4"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const LINEAR_NVFP4_R1: Instance = Instance {
    name: "linear_nvfp4_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_nvfp4_r1.cubin")),
    manifest: &[Parameter::name("format", "nvfp4"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const LINEAR_NVFP4_R16: Instance = Instance {
    name: "linear_nvfp4_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_nvfp4_r16.cubin")),
    manifest: &[Parameter::name("format", "nvfp4"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const LINEAR_NVFP4_R2: Instance = Instance {
    name: "linear_nvfp4_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_nvfp4_r2.cubin")),
    manifest: &[Parameter::name("format", "nvfp4"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const LINEAR_NVFP4_R4: Instance = Instance {
    name: "linear_nvfp4_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_nvfp4_r4.cubin")),
    manifest: &[Parameter::name("format", "nvfp4"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4_nvfp4"))]
pub const LINEAR_NVFP4_R8: Instance = Instance {
    name: "linear_nvfp4_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_nvfp4_r8.cubin")),
    manifest: &[Parameter::name("format", "nvfp4"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q4_0_R1: Instance = Instance {
    name: "linear_q4_0_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_0_r1.cubin")),
    manifest: &[Parameter::name("format", "q4_0"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q4_0_R16: Instance = Instance {
    name: "linear_q4_0_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_0_r16.cubin")),
    manifest: &[Parameter::name("format", "q4_0"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q4_0_R2: Instance = Instance {
    name: "linear_q4_0_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_0_r2.cubin")),
    manifest: &[Parameter::name("format", "q4_0"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q4_0_R4: Instance = Instance {
    name: "linear_q4_0_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_0_r4.cubin")),
    manifest: &[Parameter::name("format", "q4_0"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q4_0_R8: Instance = Instance {
    name: "linear_q4_0_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_0_r8.cubin")),
    manifest: &[Parameter::name("format", "q4_0"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q4_1_R1: Instance = Instance {
    name: "linear_q4_1_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_1_r1.cubin")),
    manifest: &[Parameter::name("format", "q4_1"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q4_1_R16: Instance = Instance {
    name: "linear_q4_1_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_1_r16.cubin")),
    manifest: &[Parameter::name("format", "q4_1"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q4_1_R2: Instance = Instance {
    name: "linear_q4_1_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_1_r2.cubin")),
    manifest: &[Parameter::name("format", "q4_1"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q4_1_R4: Instance = Instance {
    name: "linear_q4_1_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_1_r4.cubin")),
    manifest: &[Parameter::name("format", "q4_1"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q4_1_R8: Instance = Instance {
    name: "linear_q4_1_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_1_r8.cubin")),
    manifest: &[Parameter::name("format", "q4_1"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q4_K_R1: Instance = Instance {
    name: "linear_q4_k_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_k_r1.cubin")),
    manifest: &[Parameter::name("format", "q4_k"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q4_K_R16: Instance = Instance {
    name: "linear_q4_k_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_k_r16.cubin")),
    manifest: &[Parameter::name("format", "q4_k"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q4_K_R2: Instance = Instance {
    name: "linear_q4_k_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_k_r2.cubin")),
    manifest: &[Parameter::name("format", "q4_k"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q4_K_R4: Instance = Instance {
    name: "linear_q4_k_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_k_r4.cubin")),
    manifest: &[Parameter::name("format", "q4_k"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q4_K_R8: Instance = Instance {
    name: "linear_q4_k_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q4_k_r8.cubin")),
    manifest: &[Parameter::name("format", "q4_k"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_0_R1: Instance = Instance {
    name: "linear_q5_0_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_0_r1.cubin")),
    manifest: &[Parameter::name("format", "q5_0"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_0_R16: Instance = Instance {
    name: "linear_q5_0_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_0_r16.cubin")),
    manifest: &[Parameter::name("format", "q5_0"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_0_R2: Instance = Instance {
    name: "linear_q5_0_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_0_r2.cubin")),
    manifest: &[Parameter::name("format", "q5_0"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_0_R4: Instance = Instance {
    name: "linear_q5_0_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_0_r4.cubin")),
    manifest: &[Parameter::name("format", "q5_0"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_0_R8: Instance = Instance {
    name: "linear_q5_0_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_0_r8.cubin")),
    manifest: &[Parameter::name("format", "q5_0"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_1_R1: Instance = Instance {
    name: "linear_q5_1_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_1_r1.cubin")),
    manifest: &[Parameter::name("format", "q5_1"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_1_R16: Instance = Instance {
    name: "linear_q5_1_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_1_r16.cubin")),
    manifest: &[Parameter::name("format", "q5_1"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_1_R2: Instance = Instance {
    name: "linear_q5_1_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_1_r2.cubin")),
    manifest: &[Parameter::name("format", "q5_1"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_1_R4: Instance = Instance {
    name: "linear_q5_1_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_1_r4.cubin")),
    manifest: &[Parameter::name("format", "q5_1"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_1_R8: Instance = Instance {
    name: "linear_q5_1_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_1_r8.cubin")),
    manifest: &[Parameter::name("format", "q5_1"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_K_R1: Instance = Instance {
    name: "linear_q5_k_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_k_r1.cubin")),
    manifest: &[Parameter::name("format", "q5_k"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_K_R16: Instance = Instance {
    name: "linear_q5_k_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_k_r16.cubin")),
    manifest: &[Parameter::name("format", "q5_k"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_K_R2: Instance = Instance {
    name: "linear_q5_k_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_k_r2.cubin")),
    manifest: &[Parameter::name("format", "q5_k"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_K_R4: Instance = Instance {
    name: "linear_q5_k_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_k_r4.cubin")),
    manifest: &[Parameter::name("format", "q5_k"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q5_K_R8: Instance = Instance {
    name: "linear_q5_k_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q5_k_r8.cubin")),
    manifest: &[Parameter::name("format", "q5_k"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q6_K_R1: Instance = Instance {
    name: "linear_q6_k_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q6_k_r1.cubin")),
    manifest: &[Parameter::name("format", "q6_k"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q6_K_R16: Instance = Instance {
    name: "linear_q6_k_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q6_k_r16.cubin")),
    manifest: &[Parameter::name("format", "q6_k"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q6_K_R2: Instance = Instance {
    name: "linear_q6_k_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q6_k_r2.cubin")),
    manifest: &[Parameter::name("format", "q6_k"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q6_K_R4: Instance = Instance {
    name: "linear_q6_k_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q6_k_r4.cubin")),
    manifest: &[Parameter::name("format", "q6_k"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const LINEAR_Q6_K_R8: Instance = Instance {
    name: "linear_q6_k_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q6_k_r8.cubin")),
    manifest: &[Parameter::name("format", "q6_k"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q8_0_R1: Instance = Instance {
    name: "linear_q8_0_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q8_0_r1.cubin")),
    manifest: &[Parameter::name("format", "q8_0"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q8_0_R16: Instance = Instance {
    name: "linear_q8_0_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q8_0_r16.cubin")),
    manifest: &[Parameter::name("format", "q8_0"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q8_0_R2: Instance = Instance {
    name: "linear_q8_0_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q8_0_r2.cubin")),
    manifest: &[Parameter::name("format", "q8_0"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q8_0_R4: Instance = Instance {
    name: "linear_q8_0_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q8_0_r4.cubin")),
    manifest: &[Parameter::name("format", "q8_0"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: gemma-3-270m, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gemma_3_270m", tenon_model = "smollm2_135m_instruct"))]
pub const LINEAR_Q8_0_R8: Instance = Instance {
    name: "linear_q8_0_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_q8_0_r8.cubin")),
    manifest: &[Parameter::name("format", "q8_0"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// mamba2_scan: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const MAMBA2_SCAN_HD64_S128_C64: Instance = Instance {
    name: "mamba2_scan_hd64_s128_c64",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/mamba2_scan_hd64_s128_c64.cubin")
    ),
    manifest: &[
        Parameter::number("head_dim", 64),
        Parameter::number("state", 128),
        Parameter::number("chunk", 64),
    ],
    shared_bytes: 128032,
};
/// mamba2_update: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const MAMBA2_UPDATE_HD64_S128: Instance = Instance {
    name: "mamba2_update_hd64_s128",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/mamba2_update_hd64_s128.cubin")
    ),
    manifest: &[Parameter::number("head_dim", 64), Parameter::number("state", 128)],
    shared_bytes: 0,
};
/// mla_absorb: deepseek-v3.
#[cfg(any(tenon_model = "deepseek_v3"))]
pub const MLA_ABSORB_QNHD128_QRHD64_KLR512_DECODE: Instance = Instance {
    name: "mla_absorb_qnhd128_qrhd64_klr512_decode",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/mla_absorb_qnhd128_qrhd64_klr512_decode.cubin")
    ),
    manifest: &[
        Parameter::number("qk_nope_head_dim", 128),
        Parameter::number("qk_rope_head_dim", 64),
        Parameter::number("kv_lora_rank", 512),
        Parameter::name("phase", "decode"),
    ],
    shared_bytes: 32768,
};
/// mla_absorb: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const MLA_ABSORB_QNHD32_QRHD32_KLR64_DECODE: Instance = Instance {
    name: "mla_absorb_qnhd32_qrhd32_klr64_decode",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/mla_absorb_qnhd32_qrhd32_klr64_decode.cubin")
    ),
    manifest: &[
        Parameter::number("qk_nope_head_dim", 32),
        Parameter::number("qk_rope_head_dim", 32),
        Parameter::number("kv_lora_rank", 64),
        Parameter::name("phase", "decode"),
    ],
    shared_bytes: 16384,
};
/// mla_absorb: mistral-small-4, mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4", tenon_model = "mistral_small_4_nvfp4"))]
pub const MLA_ABSORB_QNHD64_QRHD64_KLR256_DECODE: Instance = Instance {
    name: "mla_absorb_qnhd64_qrhd64_klr256_decode",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/mla_absorb_qnhd64_qrhd64_klr256_decode.cubin")
    ),
    manifest: &[
        Parameter::number("qk_nope_head_dim", 64),
        Parameter::number("qk_rope_head_dim", 64),
        Parameter::number("kv_lora_rank", 256),
        Parameter::name("phase", "decode"),
    ],
    shared_bytes: 16384,
};
/// mla_combine: mistral-small-4, mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4", tenon_model = "mistral_small_4_nvfp4"))]
pub const MLA_COMBINE_KLR256: Instance = Instance {
    name: "mla_combine_klr256",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/mla_combine_klr256.cubin")),
    manifest: &[Parameter::number("kv_lora_rank", 256)],
    shared_bytes: 0,
};
/// mla_combine: deepseek-v3.
#[cfg(any(tenon_model = "deepseek_v3"))]
pub const MLA_COMBINE_KLR512: Instance = Instance {
    name: "mla_combine_klr512",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/mla_combine_klr512.cubin")),
    manifest: &[Parameter::number("kv_lora_rank", 512)],
    shared_bytes: 0,
};
/// mla_combine: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const MLA_COMBINE_KLR64: Instance = Instance {
    name: "mla_combine_klr64",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/mla_combine_klr64.cubin")),
    manifest: &[Parameter::number("kv_lora_rank", 64)],
    shared_bytes: 0,
};
/// mla_decode: mistral-small-4, mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4", tenon_model = "mistral_small_4_nvfp4"))]
pub const MLA_DECODE_BF16_KLR256_QRHD64: Instance = Instance {
    name: "mla_decode_bf16_klr256_qrhd64",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/mla_decode_bf16_klr256_qrhd64.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("kv_lora_rank", 256),
        Parameter::number("qk_rope_head_dim", 64),
    ],
    shared_bytes: 216064,
};
/// mla_decode: deepseek-v3.
#[cfg(any(tenon_model = "deepseek_v3"))]
pub const MLA_DECODE_BF16_KLR512_QRHD64: Instance = Instance {
    name: "mla_decode_bf16_klr512_qrhd64",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/mla_decode_bf16_klr512_qrhd64.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("kv_lora_rank", 512),
        Parameter::number("qk_rope_head_dim", 64),
    ],
    shared_bytes: 232448,
};
/// mla_decode: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const MLA_DECODE_BF16_KLR64_QRHD32: Instance = Instance {
    name: "mla_decode_bf16_klr64_qrhd32",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/mla_decode_bf16_klr64_qrhd32.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("kv_lora_rank", 64),
        Parameter::number("qk_rope_head_dim", 32),
    ],
    shared_bytes: 93184,
};
/// mla_decode: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const MLA_DECODE_FP8_E4M3_KLR64_QRHD32: Instance = Instance {
    name: "mla_decode_fp8_e4m3_klr64_qrhd32",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/mla_decode_fp8_e4m3_klr64_qrhd32.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "fp8_e4m3"),
        Parameter::number("kv_lora_rank", 64),
        Parameter::number("qk_rope_head_dim", 32),
    ],
    shared_bytes: 93184,
};
/// mla_expand: deepseek-v3.
#[cfg(any(tenon_model = "deepseek_v3"))]
pub const MLA_EXPAND_BF16_QNHD128_QRHD64_VHD128_KLR512_PREFILL: Instance = Instance {
    name: "mla_expand_bf16_qnhd128_qrhd64_vhd128_klr512_prefill",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/mla_expand_bf16_qnhd128_qrhd64_vhd128_klr512_prefill.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("qk_nope_head_dim", 128),
        Parameter::number("qk_rope_head_dim", 64),
        Parameter::number("v_head_dim", 128),
        Parameter::number("kv_lora_rank", 512),
        Parameter::name("phase", "prefill"),
    ],
    shared_bytes: 98304,
};
/// mla_expand: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const MLA_EXPAND_BF16_QNHD32_QRHD32_VHD32_KLR64_PREFILL: Instance = Instance {
    name: "mla_expand_bf16_qnhd32_qrhd32_vhd32_klr64_prefill",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/mla_expand_bf16_qnhd32_qrhd32_vhd32_klr64_prefill.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("qk_nope_head_dim", 32),
        Parameter::number("qk_rope_head_dim", 32),
        Parameter::number("v_head_dim", 32),
        Parameter::number("kv_lora_rank", 64),
        Parameter::name("phase", "prefill"),
    ],
    shared_bytes: 98304,
};
/// mla_expand: mistral-small-4, mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4", tenon_model = "mistral_small_4_nvfp4"))]
pub const MLA_EXPAND_BF16_QNHD64_QRHD64_VHD128_KLR256_PREFILL: Instance = Instance {
    name: "mla_expand_bf16_qnhd64_qrhd64_vhd128_klr256_prefill",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/mla_expand_bf16_qnhd64_qrhd64_vhd128_klr256_prefill.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "bf16"),
        Parameter::number("qk_nope_head_dim", 64),
        Parameter::number("qk_rope_head_dim", 64),
        Parameter::number("v_head_dim", 128),
        Parameter::number("kv_lora_rank", 256),
        Parameter::name("phase", "prefill"),
    ],
    shared_bytes: 98304,
};
/// mla_expand: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const MLA_EXPAND_FP8_E4M3_QNHD32_QRHD32_VHD32_KLR64_PREFILL: Instance = Instance {
    name: "mla_expand_fp8_e4m3_qnhd32_qrhd32_vhd32_klr64_prefill",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/mla_expand_fp8_e4m3_qnhd32_qrhd32_vhd32_klr64_prefill.cubin")
    ),
    manifest: &[
        Parameter::name("kv_dtype", "fp8_e4m3"),
        Parameter::number("qk_nope_head_dim", 32),
        Parameter::number("qk_rope_head_dim", 32),
        Parameter::number("v_head_dim", 32),
        Parameter::number("kv_lora_rank", 64),
        Parameter::name("phase", "prefill"),
    ],
    shared_bytes: 98304,
};
/// mla_prefill_expanded: deepseek-v3.
#[cfg(any(tenon_model = "deepseek_v3"))]
pub const MLA_PREFILL_EXPANDED_QNHD128_QRHD64_VHD128_PREFILL: Instance = Instance {
    name: "mla_prefill_expanded_qnhd128_qrhd64_vhd128_prefill",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/mla_prefill_expanded_qnhd128_qrhd64_vhd128_prefill.cubin")
    ),
    manifest: &[
        Parameter::number("qk_nope_head_dim", 128),
        Parameter::number("qk_rope_head_dim", 64),
        Parameter::number("v_head_dim", 128),
        Parameter::name("phase", "prefill"),
    ],
    shared_bytes: 212992,
};
/// mla_prefill_expanded: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const MLA_PREFILL_EXPANDED_QNHD32_QRHD32_VHD32_PREFILL: Instance = Instance {
    name: "mla_prefill_expanded_qnhd32_qrhd32_vhd32_prefill",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/mla_prefill_expanded_qnhd32_qrhd32_vhd32_prefill.cubin")
    ),
    manifest: &[
        Parameter::number("qk_nope_head_dim", 32),
        Parameter::number("qk_rope_head_dim", 32),
        Parameter::number("v_head_dim", 32),
        Parameter::name("phase", "prefill"),
    ],
    shared_bytes: 81920,
};
/// mla_prefill_expanded: mistral-small-4, mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4", tenon_model = "mistral_small_4_nvfp4"))]
pub const MLA_PREFILL_EXPANDED_QNHD64_QRHD64_VHD128_PREFILL: Instance = Instance {
    name: "mla_prefill_expanded_qnhd64_qrhd64_vhd128_prefill",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"),
        "/sm_90a/mla_prefill_expanded_qnhd64_qrhd64_vhd128_prefill.cubin")
    ),
    manifest: &[
        Parameter::number("qk_nope_head_dim", 64),
        Parameter::number("qk_rope_head_dim", 64),
        Parameter::number("v_head_dim", 128),
        Parameter::name("phase", "prefill"),
    ],
    shared_bytes: 163840,
};
/// mla_up: mistral-small-4, mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4", tenon_model = "mistral_small_4_nvfp4"))]
pub const MLA_UP_KLR256_VHD128_DECODE: Instance = Instance {
    name: "mla_up_klr256_vhd128_decode",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/mla_up_klr256_vhd128_decode.cubin")
    ),
    manifest: &[
        Parameter::number("kv_lora_rank", 256),
        Parameter::number("v_head_dim", 128),
        Parameter::name("phase", "decode"),
    ],
    shared_bytes: 65536,
};
/// mla_up: deepseek-v3.
#[cfg(any(tenon_model = "deepseek_v3"))]
pub const MLA_UP_KLR512_VHD128_DECODE: Instance = Instance {
    name: "mla_up_klr512_vhd128_decode",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/mla_up_klr512_vhd128_decode.cubin")
    ),
    manifest: &[
        Parameter::number("kv_lora_rank", 512),
        Parameter::number("v_head_dim", 128),
        Parameter::name("phase", "decode"),
    ],
    shared_bytes: 65536,
};
/// mla_up: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const MLA_UP_KLR64_VHD32_DECODE: Instance = Instance {
    name: "mla_up_klr64_vhd32_decode",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/mla_up_klr64_vhd32_decode.cubin")
    ),
    manifest: &[
        Parameter::number("kv_lora_rank", 64),
        Parameter::number("v_head_dim", 32),
        Parameter::name("phase", "decode"),
    ],
    shared_bytes: 16384,
};
/// query_scale: bard-mla, mistral-small-4, mistral-small-4-nvfp4.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4"
    )
)]
pub const QUERY_SCALE: Instance = Instance {
    name: "query_scale",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/query_scale.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// rms_norm_add: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const RMS_NORM_ADD_D640: Instance = Instance {
    name: "rms_norm_add_d640",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_add_d640.cubin")),
    manifest: &[Parameter::number("dim", 640)],
    shared_bytes: 0,
};
/// rms_norm_add_norm: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const RMS_NORM_ADD_NORM_D640: Instance = Instance {
    name: "rms_norm_add_norm_d640",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_add_norm_d640.cubin")
    ),
    manifest: &[Parameter::number("dim", 640)],
    shared_bytes: 0,
};
/// rms_norm: mistral-small-4, mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4", tenon_model = "mistral_small_4_nvfp4"))]
pub const RMS_NORM_BF16_D1024: Instance = Instance {
    name: "rms_norm_bf16_d1024",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_bf16_d1024.cubin")),
    manifest: &[Parameter::name("x_dtype", "bf16"), Parameter::number("dim", 1024)],
    shared_bytes: 0,
};
/// rms_norm: deepseek-v3.
#[cfg(any(tenon_model = "deepseek_v3"))]
pub const RMS_NORM_BF16_D1536: Instance = Instance {
    name: "rms_norm_bf16_d1536",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_bf16_d1536.cubin")),
    manifest: &[Parameter::name("x_dtype", "bf16"), Parameter::number("dim", 1536)],
    shared_bytes: 0,
};
/// rms_norm: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const RMS_NORM_BF16_D96: Instance = Instance {
    name: "rms_norm_bf16_d96",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_bf16_d96.cubin")),
    manifest: &[Parameter::name("x_dtype", "bf16"), Parameter::number("dim", 96)],
    shared_bytes: 0,
};
/// rms_norm: qwen3-0.6b.
#[cfg(any(tenon_model = "qwen3_0_6b"))]
pub const RMS_NORM_F32_D1024: Instance = Instance {
    name: "rms_norm_f32_d1024",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_f32_d1024.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32"), Parameter::number("dim", 1024)],
    shared_bytes: 0,
};
/// rms_norm: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const RMS_NORM_F32_D192: Instance = Instance {
    name: "rms_norm_f32_d192",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_f32_d192.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32"), Parameter::number("dim", 192)],
    shared_bytes: 0,
};
/// rms_norm: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const RMS_NORM_F32_D2880: Instance = Instance {
    name: "rms_norm_f32_d2880",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_f32_d2880.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32"), Parameter::number("dim", 2880)],
    shared_bytes: 0,
};
/// rms_norm: qwen3.5-122b-a10b.
#[cfg(any(tenon_model = "qwen3_5_122b_a10b"))]
pub const RMS_NORM_F32_D3072: Instance = Instance {
    name: "rms_norm_f32_d3072",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_f32_d3072.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32"), Parameter::number("dim", 3072)],
    shared_bytes: 0,
};
/// rms_norm: llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-8b.
#[cfg(
    any(
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "nemotron_3_super_120b_a12b",
        tenon_model = "qwen3_8b"
    )
)]
pub const RMS_NORM_F32_D4096: Instance = Instance {
    name: "rms_norm_f32_d4096",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_f32_d4096.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32"), Parameter::number("dim", 4096)],
    shared_bytes: 0,
};
/// rms_norm: smollm2-135m-instruct.
#[cfg(any(tenon_model = "smollm2_135m_instruct"))]
pub const RMS_NORM_F32_D576: Instance = Instance {
    name: "rms_norm_f32_d576",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_f32_d576.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32"), Parameter::number("dim", 576)],
    shared_bytes: 0,
};
/// rms_norm: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const RMS_NORM_F32_D640: Instance = Instance {
    name: "rms_norm_f32_d640",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_f32_d640.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32"), Parameter::number("dim", 640)],
    shared_bytes: 0,
};
/// rms_norm: deepseek-v3.
#[cfg(any(tenon_model = "deepseek_v3"))]
pub const RMS_NORM_F32_D7168: Instance = Instance {
    name: "rms_norm_f32_d7168",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_f32_d7168.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32"), Parameter::number("dim", 7168)],
    shared_bytes: 0,
};
/// rope_angles: bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
#[cfg(
    any(
        tenon_model = "bard_mla",
        tenon_model = "deepseek_v3",
        tenon_model = "gemma_3_270m",
        tenon_model = "gpt_oss_20b",
        tenon_model = "llama_3_1_8b",
        tenon_model = "mistral_small_4",
        tenon_model = "mistral_small_4_nvfp4",
        tenon_model = "qwen3_0_6b",
        tenon_model = "qwen3_8b",
        tenon_model = "qwen3_5_122b_a10b",
        tenon_model = "smollm2_135m_instruct"
    )
)]
pub const ROPE_ANGLES: Instance = Instance {
    name: "rope_angles",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rope_angles.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// rope_append: llama-3.1-8b.
#[cfg(any(tenon_model = "llama_3_1_8b"))]
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
#[cfg(any(tenon_model = "qwen3_0_6b", tenon_model = "qwen3_8b"))]
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
#[cfg(any(tenon_model = "gemma_3_270m"))]
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
/// rope_append: qwen3.5-122b-a10b.
#[cfg(any(tenon_model = "qwen3_5_122b_a10b"))]
pub const ROPE_APPEND_HD256_RD64_HALVES_QK_BF16: Instance = Instance {
    name: "rope_append_hd256_rd64_halves_qk_bf16",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/rope_append_hd256_rd64_halves_qk_bf16.cubin")
    ),
    manifest: &[
        Parameter::number("head_dim", 256),
        Parameter::number("rotary_dim", 64),
        Parameter::name("layout", "halves"),
        Parameter::name("norm", "qk"),
        Parameter::name("kv_dtype", "bf16"),
    ],
    shared_bytes: 0,
};
/// rope_append: gpt-oss-20b, smollm2-135m-instruct.
#[cfg(any(tenon_model = "gpt_oss_20b", tenon_model = "smollm2_135m_instruct"))]
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
/// rope_tail: mistral-small-4, mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4", tenon_model = "mistral_small_4_nvfp4"))]
pub const ROPE_TAIL_HD128_RD64_INTERLEAVED: Instance = Instance {
    name: "rope_tail_hd128_rd64_interleaved",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/rope_tail_hd128_rd64_interleaved.cubin")
    ),
    manifest: &[
        Parameter::number("head_dim", 128),
        Parameter::number("rotary_dim", 64),
        Parameter::name("layout", "interleaved"),
    ],
    shared_bytes: 0,
};
/// rope_tail: deepseek-v3.
#[cfg(any(tenon_model = "deepseek_v3"))]
pub const ROPE_TAIL_HD192_RD64_INTERLEAVED: Instance = Instance {
    name: "rope_tail_hd192_rd64_interleaved",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/rope_tail_hd192_rd64_interleaved.cubin")
    ),
    manifest: &[
        Parameter::number("head_dim", 192),
        Parameter::number("rotary_dim", 64),
        Parameter::name("layout", "interleaved"),
    ],
    shared_bytes: 0,
};
/// rope_tail: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const ROPE_TAIL_HD64_RD32_INTERLEAVED: Instance = Instance {
    name: "rope_tail_hd64_rd32_interleaved",
    cubin: include_bytes!(
        concat!(env!("OUT_DIR"), "/sm_90a/rope_tail_hd64_rd32_interleaved.cubin")
    ),
    manifest: &[
        Parameter::number("head_dim", 64),
        Parameter::number("rotary_dim", 32),
        Parameter::name("layout", "interleaved"),
    ],
    shared_bytes: 0,
};
/// route: mistral-small-4, mistral-small-4-nvfp4.
#[cfg(any(tenon_model = "mistral_small_4", tenon_model = "mistral_small_4_nvfp4"))]
pub const ROUTE_E128: Instance = Instance {
    name: "route_e128",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/route_e128.cubin")),
    manifest: &[Parameter::number("experts", 128)],
    shared_bytes: 0,
};
/// route: deepseek-v3, qwen3.5-122b-a10b.
#[cfg(any(tenon_model = "deepseek_v3", tenon_model = "qwen3_5_122b_a10b"))]
pub const ROUTE_E256: Instance = Instance {
    name: "route_e256",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/route_e256.cubin")),
    manifest: &[Parameter::number("experts", 256)],
    shared_bytes: 0,
};
/// route: gpt-oss-20b.
#[cfg(any(tenon_model = "gpt_oss_20b"))]
pub const ROUTE_E32: Instance = Instance {
    name: "route_e32",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/route_e32.cubin")),
    manifest: &[Parameter::number("experts", 32)],
    shared_bytes: 0,
};
/// route: bard-mla.
#[cfg(any(tenon_model = "bard_mla"))]
pub const ROUTE_E4: Instance = Instance {
    name: "route_e4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/route_e4.cubin")),
    manifest: &[Parameter::number("experts", 4)],
    shared_bytes: 0,
};
/// route: nemotron-3-super-120b-a12b.
#[cfg(any(tenon_model = "nemotron_3_super_120b_a12b"))]
pub const ROUTE_E512: Instance = Instance {
    name: "route_e512",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/route_e512.cubin")),
    manifest: &[Parameter::number("experts", 512)],
    shared_bytes: 0,
};
/// sample: bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
pub const SAMPLE: Instance = Instance {
    name: "sample",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/sample.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// scale: gemma-3-270m.
#[cfg(any(tenon_model = "gemma_3_270m"))]
pub const SCALE: Instance = Instance {
    name: "scale",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/scale.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// sigmoid_gate_add: qwen3.5-122b-a10b.
#[cfg(any(tenon_model = "qwen3_5_122b_a10b"))]
pub const SIGMOID_GATE_ADD: Instance = Instance {
    name: "sigmoid_gate_add",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/sigmoid_gate_add.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// sigmoid_mul: qwen3.5-122b-a10b.
#[cfg(any(tenon_model = "qwen3_5_122b_a10b"))]
pub const SIGMOID_MUL: Instance = Instance {
    name: "sigmoid_mul",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/sigmoid_mul.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
