// RMS norm of each head, times silu(z), in place. Used by qwen3.5-122b-a10b.
// Generated from kernel-templates/gated_head_norm/gated_head_norm.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "gated_head_norm.cuh"
namespace {
constexpr int HEAD_DIM = 128;
}
TENON_MANIFEST(gated_head_norm_hd128, HEAD_DIM)
extern "C" __global__ void __launch_bounds__(256) gated_head_norm_hd128(
    bf16* y, const bf16* z, const float* weight, float eps, int dim, int rows) {
    gated_head_norm<HEAD_DIM>(y, z, weight, eps, dim, rows);
}
