// x += y / sqrt(mean(y^2) + eps) * weight, then the norm of x that the next sublayer reads. Used by gemma-3-270m.
// Generated from kernel-templates/rms_norm_add_norm/rms_norm_add_norm.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "rms_norm_add_norm.cuh"
namespace {
constexpr int DIM = 640;
}
TENON_MANIFEST(rms_norm_add_norm_d640, DIM)
extern "C" __global__ void __launch_bounds__(Row<DIM>::THREADS) rms_norm_add_norm_d640(
    const float* y, const float* weight, float eps, float* x, const float* next_weight, bf16* out, int rows) {
    rms_norm_add_norm<DIM>(y, weight, eps, x, next_weight, out, rows);
}
