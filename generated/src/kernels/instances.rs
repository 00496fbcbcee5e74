//! Every instance of a kernel that a model of this crate launches, with the models that do.
//! Generated from kernel-templates/ and the specs that use them; edit those, then `cargo build`.

use tenon_core::cuda::{Instance, Parameter};

/// act_mul: qwen3-0.6b.
pub const ACT_MUL_SILU: Instance = Instance {
    name: "act_mul_silu",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/act_mul_silu.cubin")),
    manifest: &[Parameter::name("act", "silu")],
    shared_bytes: 0,
};
/// argmax: qwen3-0.6b.
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
/// dequantise: qwen3-0.6b.
pub const DEQUANTISE_BF16: Instance = Instance {
    name: "dequantise_bf16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_bf16.cubin")),
    manifest: &[Parameter::name("format", "bf16")],
    shared_bytes: 0,
};
/// dequantise: qwen3-0.6b.
pub const DEQUANTISE_F16: Instance = Instance {
    name: "dequantise_f16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_f16.cubin")),
    manifest: &[Parameter::name("format", "f16")],
    shared_bytes: 0,
};
/// dequantise: qwen3-0.6b.
pub const DEQUANTISE_F32: Instance = Instance {
    name: "dequantise_f32",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/dequantise_f32.cubin")),
    manifest: &[Parameter::name("format", "f32")],
    shared_bytes: 0,
};
/// embedding: qwen3-0.6b.
pub const EMBEDDING_BF16: Instance = Instance {
    name: "embedding_bf16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_bf16.cubin")),
    manifest: &[Parameter::name("format", "bf16")],
    shared_bytes: 0,
};
/// embedding: qwen3-0.6b.
pub const EMBEDDING_F16: Instance = Instance {
    name: "embedding_f16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_f16.cubin")),
    manifest: &[Parameter::name("format", "f16")],
    shared_bytes: 0,
};
/// embedding: qwen3-0.6b.
pub const EMBEDDING_F32: Instance = Instance {
    name: "embedding_f32",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/embedding_f32.cubin")),
    manifest: &[Parameter::name("format", "f32")],
    shared_bytes: 0,
};
/// gather_logit_rows: qwen3-0.6b.
pub const GATHER_LOGIT_ROWS: Instance = Instance {
    name: "gather_logit_rows",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/gather_logit_rows.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_BF16_R1: Instance = Instance {
    name: "linear_bf16_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r1.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_BF16_R16: Instance = Instance {
    name: "linear_bf16_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r16.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_BF16_R2: Instance = Instance {
    name: "linear_bf16_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r2.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_BF16_R4: Instance = Instance {
    name: "linear_bf16_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r4.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_BF16_R8: Instance = Instance {
    name: "linear_bf16_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_bf16_r8.cubin")),
    manifest: &[Parameter::name("format", "bf16"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_F16_R1: Instance = Instance {
    name: "linear_f16_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r1.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_F16_R16: Instance = Instance {
    name: "linear_f16_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r16.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_F16_R2: Instance = Instance {
    name: "linear_f16_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r2.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_F16_R4: Instance = Instance {
    name: "linear_f16_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r4.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_F16_R8: Instance = Instance {
    name: "linear_f16_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f16_r8.cubin")),
    manifest: &[Parameter::name("format", "f16"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_F32_R1: Instance = Instance {
    name: "linear_f32_r1",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r1.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 1)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_F32_R16: Instance = Instance {
    name: "linear_f32_r16",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r16.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 16)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_F32_R2: Instance = Instance {
    name: "linear_f32_r2",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r2.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 2)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_F32_R4: Instance = Instance {
    name: "linear_f32_r4",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r4.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 4)],
    shared_bytes: 0,
};
/// linear: qwen3-0.6b.
pub const LINEAR_F32_R8: Instance = Instance {
    name: "linear_f32_r8",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/linear_f32_r8.cubin")),
    manifest: &[Parameter::name("format", "f32"), Parameter::number("rows", 8)],
    shared_bytes: 0,
};
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// linear_gated: qwen3-0.6b.
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
/// rms_norm: qwen3-0.6b.
pub const RMS_NORM_F32_D1024: Instance = Instance {
    name: "rms_norm_f32_d1024",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rms_norm_f32_d1024.cubin")),
    manifest: &[Parameter::name("x_dtype", "f32"), Parameter::number("dim", 1024)],
    shared_bytes: 0,
};
/// rope_angles: qwen3-0.6b.
pub const ROPE_ANGLES: Instance = Instance {
    name: "rope_angles",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/rope_angles.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
/// rope_append: qwen3-0.6b.
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
/// sample: qwen3-0.6b.
pub const SAMPLE: Instance = Instance {
    name: "sample",
    cubin: include_bytes!(concat!(env!("OUT_DIR"), "/sm_90a/sample.cubin")),
    manifest: &[],
    shared_bytes: 0,
};
