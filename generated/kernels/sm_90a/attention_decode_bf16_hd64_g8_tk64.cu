// Causal attention of spans of one token over the paged cache, in parts of the context that the last thread block adds up. Used by gpt-oss-20b.
// Generated from kernel-templates/attention_decode/attention_decode.cu.jinja; edit that, then `cargo build`.
#include "attention_decode.cuh"

namespace {
using Cache = bf16;
constexpr int HEAD_DIM = 64, GROUP = 8, TILE_KV = 64;
static_assert(GROUP >= 1 && GROUP <= 64, "query heads of a key-value head");
}

TENON_MANIFEST(attention_decode_bf16_hd64_g8_tk64, name_number("bf16"), HEAD_DIM, GROUP, TILE_KV)

extern "C" __global__ void __launch_bounds__(DecodeShape<Cache, HEAD_DIM, GROUP, TILE_KV>::THREADS)
attention_decode_bf16_hd64_g8_tk64(Step step, const bf16* q, const void* kv, const float* sinks, bf16* out, float scale, int window, float soft_cap,
               float* workspace, unsigned* counters, int kv_splits, int num_key_value_heads) {
    attention_decode<Cache, HEAD_DIM, GROUP, TILE_KV>(step, q, kv, sinks, out, scale, window, soft_cap, workspace, counters, kv_splits,
                                                      num_key_value_heads);
}
