// y = W x for a few rows. Used by gemma-3-270m.
// Generated from kernel-templates/linear/linear.cu.jinja; edit that, then `cargo build`.
#include "linear.cuh"
#include "manifest.cuh"
namespace {
using Format = q5_1;
constexpr int ROWS = 8;
static_assert(ROWS >= 1 && ROWS <= 16, "more rows are for a matrix product");
}
TENON_MANIFEST(linear_q5_1_r8, name_number("q5_1"), ROWS)
extern "C" __global__ void __launch_bounds__(WARP * FewRows<Format, ROWS>::WARPS, FewRows<Format, ROWS>::BLOCKS) linear_q5_1_r8(const unsigned char* weight, const float* scales, float factor, const bf16* x, void* y, int mode, int out, int in, int rows) {
    linear<Format, ROWS>(weight, scales, factor, x, y, mode, out, in, rows);
}
