// y = W x for a few rows. Used by gemma-3-270m, smollm2-135m-instruct.
// Generated from kernel-templates/linear/linear.cu.jinja; edit that, then `cargo build`.
#include "linear.cuh"
#include "manifest.cuh"
namespace {
using Format = q8_0;
constexpr int ROWS = 2;
static_assert(ROWS >= 1 && ROWS <= 16, "more rows are for a matrix product");
}
TENON_MANIFEST(linear_q8_0_r2, name_number("q8_0"), ROWS)
extern "C" __global__ void __launch_bounds__(WARP * FewRows<Format, ROWS>::WARPS, FewRows<Format, ROWS>::BLOCKS) linear_q8_0_r2(const unsigned char* weight, const float* scales, float factor, const bf16* x, void* y, int mode, int out, int in, int rows) {
    linear<Format, ROWS>(weight, scales, factor, x, y, mode, out, in, rows);
}
