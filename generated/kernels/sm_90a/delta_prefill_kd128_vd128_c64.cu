// The gated delta rule over spans of several tokens, in chunks (arXiv 2412.06464, section 3.3). Used by qwen3.5-122b-a10b.
// Generated from kernel-templates/delta_prefill/delta_prefill.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "delta_prefill.cuh"

namespace {
constexpr int KEY_DIM = 128;
constexpr int VALUE_DIM = 128;
constexpr int CHUNK = 64;
static_assert(KEY_DIM % 8 == 0 && VALUE_DIM % 8 == 0, "rows are loaded 16 bytes at a time");
static_assert(KEY_DIM <= 128, "a thread holds its part of the state in registers");
static_assert(CHUNK == 64, "a chunk is one tile of tokens");
static_assert(STAGES * sizeof(DeltaStage<KEY_DIM, CHUNK>) == 3 * (8192 * (2 * ceil_div(KEY_DIM, 64) + 5) + 3072), "what TEMPLATE.toml says of shared memory");
}

TENON_MANIFEST(delta_prefill_kd128_vd128_c64, KEY_DIM, VALUE_DIM, CHUNK)

extern "C" __global__ void __launch_bounds__(CHUNK_THREADS, 1) delta_prefill_kd128_vd128_c64(
    Step step, const bf16* qkv, const float* a, const float* b, const float* decay, const float* dt_bias, float* states, bf16* y, int key_heads,
    int value_heads) {
    delta_prefill<KEY_DIM, VALUE_DIM, CHUNK>(step, {qkv, a, b, decay, dt_bias, states, y, key_heads, value_heads});
}
