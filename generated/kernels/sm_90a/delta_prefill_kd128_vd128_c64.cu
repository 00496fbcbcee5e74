// The gated delta rule over spans of several tokens, in chunks (arXiv 2412.06464, section 3.3). Used by qwen3.5-122b-a10b.
// Generated from kernel-templates/delta_prefill/delta_prefill.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "delta_prefill.cuh"

namespace {
constexpr int KEY_DIM = 128;
constexpr int VALUE_DIM = 128;
constexpr int CHUNK = 64;
static_assert(KEY_DIM % 8 == 0 && VALUE_DIM % 8 == 0, "rows are loaded 16 bytes at a time");
static_assert(KEY_DIM <= 128, "a warp holds 16 rows of the state in registers");
static_assert(CHUNK % 32 == 0 && CHUNK <= 64, "a chunk is whole lanes of a warp and fits in shared memory twice");
static_assert(sizeof(DeltaStage<KEY_DIM, CHUNK>) == CHUNK * (4 * (16 * ceil_div(KEY_DIM, 16) + 8) + 144 + 8 * (CHUNK + 8) + 28) + 16,
              "half of what TEMPLATE.toml says of shared memory, without the parts on the diagonal");
}

TENON_MANIFEST(delta_prefill_kd128_vd128_c64, KEY_DIM, VALUE_DIM, CHUNK)

extern "C" __global__ void __launch_bounds__(CHUNK_THREADS, 1) delta_prefill_kd128_vd128_c64(
    Step step, const bf16* qkv, const float* a, const float* b, const float* decay, const float* dt_bias, float* states, bf16* y, int key_heads,
    int value_heads) {
    delta_prefill<KEY_DIM, VALUE_DIM, CHUNK>(step, {qkv, a, b, decay, dt_bias, states, y, key_heads, value_heads});
}
