// The last product of experts, for 16 tokens at most. Used by mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
// Generated from kernel-templates/experts_down_few/experts_down_few.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "experts_down_few.cuh"
namespace {
using Format = nvfp4;
}
TENON_MANIFEST(experts_down_few_nvfp4, name_number("nvfp4"))
extern "C" __global__ void __launch_bounds__(128, FEW_BLOCKS<Format>) experts_down_few_nvfp4(
    const bf16* inner, const unsigned char* stack, const float* scales, const float* factors, const float* down_bias, const int* ids,
    void* parts, int hidden, int intermediate, int experts, int top_k, int rows) {
    experts_down_few<Format>(inner, stack, scales, factors, down_bias, ids, parts, hidden, intermediate, experts, top_k, rows);
}
