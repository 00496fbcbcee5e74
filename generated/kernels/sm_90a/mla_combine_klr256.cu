// The parts that mla_decode left of each context become one output. Used by mistral-small-4, mistral-small-4-nvfp4.
// Generated from kernel-templates/mla_combine/mla_combine.cu.jinja; edit that, then `cargo build`.
#include "mla_combine.cuh"
#include "manifest.cuh"
namespace {
constexpr int RANK = 256;
static_assert(RANK % 8 == 0, "two elements are read at once, and rows begin at even places");
}
TENON_MANIFEST(mla_combine_klr256, RANK)
extern "C" __global__ void __launch_bounds__(COMBINE_THREADS)
mla_combine_klr256(Step step, const float* workspace, bf16* o_latent, int kv_splits, int num_attention_heads) {
    mla_combine<RANK>(step, workspace, o_latent, kv_splits, num_attention_heads);
}
