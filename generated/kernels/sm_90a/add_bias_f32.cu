// x += bias, row by row. Used by gpt-oss-20b.
// Generated from kernel-templates/add_bias/add_bias.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "add_bias.cuh"
namespace {
using X = f32;
}
TENON_MANIFEST(add_bias_f32, name_number("f32"))
extern "C" __global__ void __launch_bounds__(256) add_bias_f32(X* x, const float* bias, int dim, int rows) {
    add_bias<X>(x, bias, dim, rows);
}
