// Latent attention of spans of one token in absorbed form, the context in parts. Used by bard-mla.
// Generated from kernel-templates/mla_decode/mla_decode.cu.jinja; edit that, then `cargo build`.
#include "mla_decode.cuh"
#include "manifest.cuh"
namespace {
using Kv = bf16;
constexpr int RANK = 64, ROPE = 32;
}
TENON_MANIFEST(mla_decode_bf16_klr64_qrhd32, name_number("bf16"), RANK, ROPE)
extern "C" __global__ void __launch_bounds__(LATENT_THREADS, 1)
mla_decode_bf16_klr64_qrhd32(Step step, const bf16* q_latent, const void* cache, bf16* o_latent, float scale, float* workspace, int kv_splits, int num_attention_heads) {
    mla_decode<Kv, RANK, ROPE>(step, q_latent, cache, o_latent, scale, workspace, kv_splits, num_attention_heads);
}
