// y = act(G x) * (U x) for a few rows: two products and what joins them, in one launch. Used by mistral-small-4-nvfp4, qwen3.5-122b-a10b.
// Generated from kernel-templates/linear_gated/linear_gated.cu.jinja; edit that, then `cargo build`.
#include "linear_gated.cuh"
#include "manifest.cuh"
namespace {
using Format = nvfp4;
constexpr int ROWS = 4;
static_assert(ROWS >= 1 && ROWS <= 16, "more rows are for a matrix product");
}
TENON_MANIFEST(linear_gated_nvfp4_r4_silu, name_number("nvfp4"), ROWS, name_number("silu"))
extern "C" __global__ void __launch_bounds__(WARP * FewRows<Format, ROWS>::WARPS, FewRows<Format, ROWS>::BLOCKS)
linear_gated_nvfp4_r4_silu(const unsigned char* gate, const unsigned char* up, const float* gate_scales, const float* up_scales, float gate_factor, float up_factor,
               const bf16* x, bf16* y, int out, int in, int rows) {
    linear_gated<Format, ROWS, act_silu>(gate, up, gate_scales, up_scales, gate_factor, up_factor, x, y, out, in, rows);
}
