// x += bias, row by row. Used by gpt-oss-20b.
// Generated from kernel-templates/add_bias/add_bias.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "add_bias.cuh"
namespace {
using X = bf16;
}
TENON_MANIFEST(add_bias_bf16, name_number("bf16"))
extern "C" __global__ void __launch_bounds__(256) add_bias_bf16(X* x, const float* bias, int dim, int rows) {
    add_bias<X>(x, bias, dim, rows);
}
