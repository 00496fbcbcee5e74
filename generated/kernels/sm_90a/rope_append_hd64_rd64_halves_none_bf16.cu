// Norms and rotates the heads of queries and keys, and writes keys and values to the paged cache. Used by gpt-oss-20b, smollm2-135m-instruct.
// Generated from kernel-templates/rope_append/rope_append.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "rope_append.cuh"
namespace {
constexpr int HEAD_DIM = 64;
constexpr int ROTARY_DIM = 64;
constexpr bool INTERLEAVED = name_number("halves") == name_number("interleaved");
constexpr bool NORM = name_number("none") == name_number("qk");
using Cache = bf16;
}
TENON_MANIFEST(rope_append_hd64_rd64_halves_none_bf16, HEAD_DIM, ROTARY_DIM, name_number("halves"), name_number("none"), name_number("bf16"))
extern "C" __global__ void __launch_bounds__(256) rope_append_hd64_rd64_halves_none_bf16(
    Step step, bf16* q, const bf16* k, const bf16* v, const float* q_weight, const float* k_weight, float eps, const float* cos,
    const float* sin, void* kv, int num_attention_heads, int num_key_value_heads, int rows) {
    rope_append<HEAD_DIM, ROTARY_DIM, INTERLEAVED, NORM, Cache>(step, q, k, v, q_weight, k_weight, eps, cos, sin, kv,
                                                                num_attention_heads, num_key_value_heads, rows);
}
