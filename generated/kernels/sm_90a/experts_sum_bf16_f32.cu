// For each token the sum of its experts' rows by weight, in the order of the routes. Used by bard-mla, deepseek-v3, gpt-oss-20b, mistral-small-4, mistral-small-4-nvfp4, qwen3.5-122b-a10b.
// Generated from kernel-templates/experts_sum/experts_sum.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "experts_sum.cuh"
namespace {
using Part = bf16;
using Out = f32;
}
TENON_MANIFEST(experts_sum_bf16_f32, name_number("bf16"), name_number("f32"))
extern "C" __global__ void __launch_bounds__(256) experts_sum_bf16_f32(
    const float* weights, const int* ids, const void* parts, Out* out, int hidden, int top_k, int rows) {
    experts_sum<Part, Out>(weights, ids, parts, out, hidden, top_k, rows);
}
