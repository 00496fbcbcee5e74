// x / sqrt(mean(x^2) + eps) * weight, row by row. Used by qwen3.5-122b-a10b.
// Generated from kernel-templates/rms_norm/rms_norm.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "rms_norm.cuh"
namespace {
using X = f32;
constexpr int DIM = 3072;
}
TENON_MANIFEST(rms_norm_f32_d3072, name_number("f32"), DIM)
extern "C" __global__ void __launch_bounds__(Row<DIM>::THREADS) rms_norm_f32_d3072(
    const X* x, const float* weight, float eps, bf16* out, int rows) {
    rms_norm<X, DIM>(x, weight, eps, out, rows);
}
