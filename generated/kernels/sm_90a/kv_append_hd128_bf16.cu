// Writes keys and values to the paged cache, rounded to its dtype. Used by nemotron-3-super-120b-a12b.
// Generated from kernel-templates/kv_append/kv_append.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "kv_append.cuh"
namespace {
constexpr int HEAD_DIM = 128;
using Cache = bf16;
}
TENON_MANIFEST(kv_append_hd128_bf16, HEAD_DIM, name_number("bf16"))
extern "C" __global__ void __launch_bounds__(256) kv_append_hd128_bf16(
    Step step, const bf16* k, const bf16* v, void* kv, int num_key_value_heads, int rows) {
    kv_append<HEAD_DIM, Cache>(step, k, v, kv, num_key_value_heads, rows);
}
