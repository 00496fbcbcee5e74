// Queries of latent attention move into the space of latents, K^T q per head; the rotated part stays as it is. Used by bard-mla.
// Generated from kernel-templates/mla_absorb/mla_absorb.cu.jinja; edit that, then `cargo build`.
#include "mla_absorb.cuh"
#include "manifest.cuh"
namespace {
constexpr int NOPE = 32, ROPE = 32, RANK = 64;
using Phase = phase_decode;
}
TENON_MANIFEST(mla_absorb_qnhd32_qrhd32_klr64_decode, NOPE, ROPE, RANK, name_number("decode"))
extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS)
mla_absorb_qnhd32_qrhd32_klr64_decode(Step step, const bf16* q, const bf16* w_k, bf16* q_latent, int num_attention_heads, int rows) {
    mla_absorb<NOPE, ROPE, RANK, Phase>(step, q, w_k, q_latent, num_attention_heads, rows);
}
