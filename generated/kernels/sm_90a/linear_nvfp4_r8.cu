// y = W x for a few rows. Used by mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
// Generated from kernel-templates/linear/linear.cu.jinja; edit that, then `cargo build`.
#include "linear.cuh"
#include "manifest.cuh"
namespace {
using Format = nvfp4;
constexpr int ROWS = 8;
static_assert(ROWS >= 1 && ROWS <= 16, "more rows are for a matrix product");
}
TENON_MANIFEST(linear_nvfp4_r8, name_number("nvfp4"), ROWS)
extern "C" __global__ void __launch_bounds__(WARP * FewRows<Format, ROWS>::WARPS, FewRows<Format, ROWS>::BLOCKS) linear_nvfp4_r8(const unsigned char* weight, const float* scales, float factor, const bf16* x, void* y, int mode, int out, int in, int rows) {
    linear<Format, ROWS>(weight, scales, factor, x, y, mode, out, in, rows);
}
