// Keys and values of every head from the latents of whole contexts: [K c, rotated part] and V c. Used by bard-mla.
// Generated from kernel-templates/mla_expand/mla_expand.cu.jinja; edit that, then `cargo build`.
#include "mla_expand.cuh"
#include "manifest.cuh"
namespace {
using Kv = fp8_e4m3;
constexpr int NOPE = 32, ROPE = 32, V = 32, RANK = 64;
using Phase = phase_prefill;
}
TENON_MANIFEST(mla_expand_fp8_e4m3_qnhd32_qrhd32_vhd32_klr64_prefill, name_number("fp8_e4m3"), NOPE, ROPE, V, RANK, name_number("prefill"))
extern "C" __global__ void __launch_bounds__(EXPAND_THREADS, 2)
mla_expand_fp8_e4m3_qnhd32_qrhd32_vhd32_klr64_prefill(Step step, const void* cache, const bf16* w_k, const bf16* w_v, bf16* keys, bf16* values, int first_span, int first_head, int spans_of_pass, int heads_of_pass, int context_rows) {
    mla_expand<Kv, NOPE, ROPE, V, RANK, Phase>(step, cache, w_k, w_v, keys, values, first_span, first_head, spans_of_pass, heads_of_pass, context_rows);
}
