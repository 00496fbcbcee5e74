// RMS norm of y silu(z) in each group of channels, in place. Used by nemotron-3-super-120b-a12b.
// Generated from kernel-templates/gated_group_norm/gated_group_norm.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "gated_group_norm.cuh"
namespace {
constexpr int DIM = 8192;
constexpr int GROUPS = 8;
static_assert(DIM % GROUPS == 0, "a row is a whole number of groups");
}
TENON_MANIFEST(gated_group_norm_d8192_g8, DIM, GROUPS)
extern "C" __global__ void __launch_bounds__(Row<DIM / GROUPS>::THREADS) gated_group_norm_d8192_g8(
    bf16* y, const bf16* z, const float* weight, float eps, int rows) {
    gated_group_norm<DIM, GROUPS>(y, z, weight, eps, rows);
}
