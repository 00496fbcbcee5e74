// A stored matrix as bf16, for a matrix product with many rows. Used by mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
// Generated from kernel-templates/dequantise/dequantise.cu.jinja; edit that, then `cargo build`.
#include "dequantise.cuh"
#include "manifest.cuh"
namespace {
using Format = nvfp4;
constexpr int RANGE = 4096, THREADS = 128;
}
TENON_MANIFEST(dequantise_nvfp4, name_number("nvfp4"))
extern "C" __global__ void __launch_bounds__(THREADS) dequantise_nvfp4(const unsigned char* weight, const float* scales, float factor, bf16* out_matrix, int out, int in) {
    dequantise<Format, RANGE, THREADS>(weight, scales, factor, out_matrix, out, in);
}
