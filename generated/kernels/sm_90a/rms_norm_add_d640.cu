// x += y / sqrt(mean(y^2) + eps) * weight, row by row: the second norm of a sandwich. Used by gemma-3-270m.
// Generated from kernel-templates/rms_norm_add/rms_norm_add.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "rms_norm_add.cuh"
namespace {
constexpr int DIM = 640;
}
TENON_MANIFEST(rms_norm_add_d640, DIM)
extern "C" __global__ void __launch_bounds__(Row<DIM>::THREADS) rms_norm_add_d640(
    const float* y, const float* weight, float eps, float* x, int rows) {
    rms_norm_add<DIM>(y, weight, eps, x, rows);
}
