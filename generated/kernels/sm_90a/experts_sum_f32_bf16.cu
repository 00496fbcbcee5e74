// For each token the sum of its experts' rows by weight, in the order of the routes. Used by nemotron-3-super-120b-a12b.
// Generated from kernel-templates/experts_sum/experts_sum.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "experts_sum.cuh"
namespace {
using Part = f32;
using Out = bf16;
}
TENON_MANIFEST(experts_sum_f32_bf16, name_number("f32"), name_number("bf16"))
extern "C" __global__ void __launch_bounds__(256) experts_sum_f32_bf16(
    const float* weights, const int* ids, const void* parts, Out* out, int hidden, int top_k, int rows) {
    experts_sum<Part, Out>(weights, ids, parts, out, hidden, top_k, rows);
}
