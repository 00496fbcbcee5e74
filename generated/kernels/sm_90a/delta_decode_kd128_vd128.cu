// The gated delta rule over spans of one token: S = exp(g) S, S = S + beta (v - S k) k^T, y = S q. Used by qwen3.5-122b-a10b.
// Generated from kernel-templates/delta_decode/delta_decode.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "delta_decode.cuh"

namespace {
constexpr int KEY_DIM = 128;
constexpr int VALUE_DIM = 128;
static_assert(KEY_DIM % 8 == 0 && VALUE_DIM % 8 == 0, "rows are loaded 16 bytes at a time");
static_assert(KEY_DIM <= 256, "a lane holds at most two vectors of a row");
}

TENON_MANIFEST(delta_decode_kd128_vd128, KEY_DIM, VALUE_DIM)

extern "C" __global__ void __launch_bounds__(256) delta_decode_kd128_vd128(
    Step step, const bf16* qkv, const float* a, const float* b, const float* decay, const float* dt_bias, float* states, bf16* y, int key_heads,
    int value_heads) {
    delta_decode<KEY_DIM, VALUE_DIM>(step, {qkv, a, b, decay, dt_bias, states, y, key_heads, value_heads});
}
