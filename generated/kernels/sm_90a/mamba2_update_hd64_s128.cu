// The recurrence of Mamba2 over spans of one token: s = exp(d A) s + B d x, y = C s + D x. Used by nemotron-3-super-120b-a12b.
// Generated from kernel-templates/mamba2_update/mamba2_update.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "mamba2_update.cuh"

namespace {
constexpr int HEAD_DIM = 64;
constexpr int STATE = 128;
static_assert(HEAD_DIM % 8 == 0 && STATE % 8 == 0, "rows are loaded 16 bytes at a time");
static_assert(STATE <= 256, "a lane holds at most two vectors of a row");
}

TENON_MANIFEST(mamba2_update_hd64_s128, HEAD_DIM, STATE)

extern "C" __global__ void __launch_bounds__(256) mamba2_update_hd64_s128(
    Step step, const bf16* xbc, const float* dt, const float* decay, const float* d, const float* dt_bias, float time_step_min, float* states,
    bf16* y, int heads, int groups) {
    mamba2_update<HEAD_DIM, STATE>(step, {xbc, dt, decay, d, dt_bias, time_step_min, states, y, heads, groups});
}
