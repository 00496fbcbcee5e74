// The last product of experts, for many tokens: tiles of the pairs sorted by expert. Used by mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
// Generated from kernel-templates/experts_down_many/experts_down_many.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "experts_down_many.cuh"
namespace {
using Format = nvfp4;
}
TENON_MANIFEST(experts_down_many_nvfp4, name_number("nvfp4"))
extern "C" __global__ void __launch_bounds__(256, MANY_BLOCKS<Format>) experts_down_many_nvfp4(
    const bf16* inner, const unsigned char* stack, const float* scales, const float* factors, const float* down_bias, const int* order,
    const int* offsets, const int* tiles, void* parts, int hidden, int intermediate, int experts, int top_k, int rows) {
    experts_down_many<Format>(inner, stack, scales, factors, down_bias, order, offsets, tiles, parts, hidden, intermediate, top_k);
}
