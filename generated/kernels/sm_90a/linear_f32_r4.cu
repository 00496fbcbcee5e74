// y = W x for a few rows. Used by bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
// Generated from kernel-templates/linear/linear.cu.jinja; edit that, then `cargo build`.
#include "linear.cuh"
#include "manifest.cuh"
namespace {
using Format = f32;
constexpr int ROWS = 4;
static_assert(ROWS >= 1 && ROWS <= 16, "more rows are for a matrix product");
}
TENON_MANIFEST(linear_f32_r4, name_number("f32"), ROWS)
extern "C" __global__ void __launch_bounds__(WARP * FewRows<Format, ROWS>::WARPS, FewRows<Format, ROWS>::BLOCKS) linear_f32_r4(const unsigned char* weight, const float* scales, float factor, const bf16* x, void* y, int mode, int out, int in, int rows) {
    linear<Format, ROWS>(weight, scales, factor, x, y, mode, out, in, rows);
}
