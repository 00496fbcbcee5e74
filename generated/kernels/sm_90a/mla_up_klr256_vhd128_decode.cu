// What latent attention gathered becomes the output of each head, V o. Used by mistral-small-4, mistral-small-4-nvfp4.
// Generated from kernel-templates/mla_up/mla_up.cu.jinja; edit that, then `cargo build`.
#include "mla_up.cuh"
#include "manifest.cuh"
namespace {
constexpr int RANK = 256, V = 128;
using Phase = phase_decode;
}
TENON_MANIFEST(mla_up_klr256_vhd128_decode, RANK, V, name_number("decode"))
extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS)
mla_up_klr256_vhd128_decode(Step step, const bf16* o_latent, const bf16* w_v, bf16* attn, int num_attention_heads, int rows) {
    mla_up<RANK, V, Phase>(step, o_latent, w_v, attn, num_attention_heads, rows);
}
