// A stored matrix as bf16, for a matrix product with many rows. Used by gemma-3-270m.
// Generated from kernel-templates/dequantise/dequantise.cu.jinja; edit that, then `cargo build`.
#include "dequantise.cuh"
#include "manifest.cuh"
namespace {
using Format = q4_k;
constexpr int RANGE = 4096, THREADS = 128;
}
TENON_MANIFEST(dequantise_q4_k, name_number("q4_k"))
extern "C" __global__ void __launch_bounds__(THREADS) dequantise_q4_k(const unsigned char* weight, const float* scales, float factor, bf16* out_matrix, int out, int in) {
    dequantise<Format, RANGE, THREADS>(weight, scales, factor, out_matrix, out, in);
}
