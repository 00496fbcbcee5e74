//! Mixers that keep a state per sequence: mamba2 and gated delta net.

use std::ops::RangeInclusive;

use crate::parse::SIZE;
use crate::reader::Table;
use crate::spec::{GatedDeltaNetSpec, Mamba2Spec};

/// Tokens that a convolution sees: with one, it would be a scale.
const KERNEL: RangeInclusive<u64> = 2..=256;

pub(super) fn mamba2(mut table: Table<'_>) -> Option<Mamba2Spec> {
    let mamba_num_heads = table.required("mamba_num_heads").and_then(|v| v.integer(SIZE));
    let mamba_head_dim = table.required("mamba_head_dim").and_then(|v| v.integer(SIZE));
    let ssm_state_size = table.required("ssm_state_size").and_then(|v| v.integer(SIZE));
    let n_groups = table.required("n_groups").and_then(|v| v.integer(SIZE));
    let conv_kernel = table.required("conv_kernel").and_then(|v| v.integer(KERNEL));
    let chunk_size = table.required("chunk_size").and_then(|v| v.integer(SIZE));
    let use_conv_bias = table.required("use_conv_bias").and_then(|v| v.boolean());
    let use_bias = table.required("use_bias").and_then(|v| v.boolean());
    let time_step_min = table.required("time_step_min").and_then(|v| v.float("finite and at least 0", |t| t >= 0.0));
    table.finish();
    Some(Mamba2Spec {
        mamba_num_heads: mamba_num_heads?,
        mamba_head_dim: mamba_head_dim?,
        ssm_state_size: ssm_state_size?,
        n_groups: n_groups?,
        conv_kernel: conv_kernel?,
        chunk_size: chunk_size?,
        use_conv_bias: use_conv_bias?,
        use_bias: use_bias?,
        time_step_min: time_step_min?,
    })
}

pub(super) fn gated_delta_net(mut table: Table<'_>) -> Option<GatedDeltaNetSpec> {
    let linear_num_key_heads = table.required("linear_num_key_heads").and_then(|v| v.integer(SIZE));
    let linear_key_head_dim = table.required("linear_key_head_dim").and_then(|v| v.integer(SIZE));
    let linear_num_value_heads = table.required("linear_num_value_heads").and_then(|v| v.integer(SIZE));
    let linear_value_head_dim = table.required("linear_value_head_dim").and_then(|v| v.integer(SIZE));
    let linear_conv_kernel_dim = table.required("linear_conv_kernel_dim").and_then(|v| v.integer(KERNEL));
    table.finish();
    Some(GatedDeltaNetSpec {
        linear_num_key_heads: linear_num_key_heads?,
        linear_key_head_dim: linear_key_head_dim?,
        linear_num_value_heads: linear_num_value_heads?,
        linear_value_head_dim: linear_value_head_dim?,
        linear_conv_kernel_dim: linear_conv_kernel_dim?,
    })
}
