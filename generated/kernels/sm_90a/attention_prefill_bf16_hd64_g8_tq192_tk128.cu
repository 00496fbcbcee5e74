// Causal attention of spans of several tokens over the paged cache: tiles of query rows, with or without a window, sinks and a soft cap. Used by gpt-oss-20b.
// Generated from kernel-templates/attention_prefill/attention_prefill.cu.jinja; edit that, then `cargo build`.
#include "attention_prefill.cuh"

namespace {
using Cache = bf16;
constexpr int HEAD_DIM = 64, GROUP = 8, TILE_Q = 192, TILE_KV = 128;
static_assert(GROUP >= 1 && GROUP <= 64, "query heads of a key-value head");
}

TENON_MANIFEST(attention_prefill_bf16_hd64_g8_tq192_tk128, name_number("bf16"), HEAD_DIM, GROUP, TILE_Q, TILE_KV)

extern "C" __global__ void __launch_bounds__(PrefillShape<Cache, HEAD_DIM, TILE_Q, TILE_KV>::THREADS, 1)
attention_prefill_bf16_hd64_g8_tq192_tk128(Step step, const bf16* q, const void* kv, const float* sinks, bf16* out, float scale, int window, float soft_cap,
               int num_key_value_heads) {
    attention_prefill<Cache, HEAD_DIM, GROUP, TILE_Q, TILE_KV>(step, q, kv, sinks, out, scale, window, soft_cap, num_key_value_heads);
}
