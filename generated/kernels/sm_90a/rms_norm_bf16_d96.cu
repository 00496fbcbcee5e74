// x / sqrt(mean(x^2) + eps) * weight, row by row. Used by bard-mla.
// Generated from kernel-templates/rms_norm/rms_norm.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "rms_norm.cuh"
namespace {
using X = bf16;
constexpr int DIM = 96;
}
TENON_MANIFEST(rms_norm_bf16_d96, name_number("bf16"), DIM)
extern "C" __global__ void __launch_bounds__(Row<DIM>::THREADS) rms_norm_bf16_d96(
    const X* x, const float* weight, float eps, bf16* out, int rows) {
    rms_norm<X, DIM>(x, weight, eps, out, rows);
}
