// The recurrence of Mamba2 over spans of several tokens, in chunks (arXiv 2405.21060, section 6). Used by nemotron-3-super-120b-a12b.
// Generated from kernel-templates/mamba2_scan/mamba2_scan.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "mamba2_scan.cuh"

namespace {
constexpr int HEAD_DIM = 64;
constexpr int STATE = 128;
constexpr int CHUNK = 64;
static_assert(HEAD_DIM % 8 == 0 && STATE % 8 == 0, "rows are loaded 16 bytes at a time");
static_assert(STATE <= 128, "a thread holds its part of the state in registers");
static_assert(CHUNK == 64, "a chunk is one tile of tokens");
static_assert(STAGES * sizeof(ScanStage<STATE, CHUNK>) == 3 * (8192 * (2 * ceil_div(STATE, 64) + 3) + 2048), "what TEMPLATE.toml says of shared memory");
}

TENON_MANIFEST(mamba2_scan_hd64_s128_c64, HEAD_DIM, STATE, CHUNK)

extern "C" __global__ void __launch_bounds__(CHUNK_THREADS, 1) mamba2_scan_hd64_s128_c64(
    Step step, const bf16* xbc, const float* dt, const float* decay, const float* d, const float* dt_bias, float time_step_min, float* states,
    bf16* y, int heads, int groups) {
    mamba2_scan<HEAD_DIM, STATE, CHUNK>(step, {xbc, dt, decay, d, dt_bias, time_step_min, states, y, heads, groups});
}
