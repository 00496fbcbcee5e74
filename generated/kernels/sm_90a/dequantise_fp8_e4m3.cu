// A stored matrix as bf16, for a matrix product with many rows. Used by deepseek-v3, mistral-small-4.
// Generated from kernel-templates/dequantise/dequantise.cu.jinja; edit that, then `cargo build`.
#include "dequantise.cuh"
#include "manifest.cuh"
namespace {
using Format = fp8_e4m3;
constexpr int RANGE = 4096, THREADS = 128;
}
TENON_MANIFEST(dequantise_fp8_e4m3, name_number("fp8_e4m3"))
extern "C" __global__ void __launch_bounds__(THREADS) dequantise_fp8_e4m3(const unsigned char* weight, const float* scales, float factor, bf16* out_matrix, int out, int in) {
    dequantise<Format, RANGE, THREADS>(weight, scales, factor, out_matrix, out, in);
}
