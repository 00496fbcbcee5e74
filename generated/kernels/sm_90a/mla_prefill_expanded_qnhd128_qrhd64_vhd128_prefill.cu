// Latent attention in expanded form: causal attention over keys and values that mla_expand has made. Used by deepseek-v3.
// Generated from kernel-templates/mla_prefill_expanded/mla_prefill_expanded.cu.jinja; edit that, then `cargo build`.
#include "mla_prefill_expanded.cuh"
#include "manifest.cuh"
namespace {
constexpr int NOPE = 128, ROPE = 64, V = 128;
using Phase = phase_prefill;
}
TENON_MANIFEST(mla_prefill_expanded_qnhd128_qrhd64_vhd128_prefill, NOPE, ROPE, V, name_number("prefill"))
extern "C" __global__ void __launch_bounds__(EXPANDED_THREADS, 1)
mla_prefill_expanded_qnhd128_qrhd64_vhd128_prefill(Step step, const bf16* q, const bf16* keys, const bf16* values, bf16* attn, float scale, int first_span, int first_head, int, int, int context_rows, int num_attention_heads) {
    mla_prefill_expanded<NOPE, ROPE, V, Phase>(step, q, keys, values, attn, scale, first_span, first_head, context_rows, num_attention_heads);
}
