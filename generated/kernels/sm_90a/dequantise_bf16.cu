// A stored matrix as bf16, for a matrix product with many rows. Used by bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
// Generated from kernel-templates/dequantise/dequantise.cu.jinja; edit that, then `cargo build`.
#include "dequantise.cuh"
#include "manifest.cuh"
namespace {
using Format = bf16;
constexpr int RANGE = 4096, THREADS = 128;
}
TENON_MANIFEST(dequantise_bf16, name_number("bf16"))
extern "C" __global__ void __launch_bounds__(THREADS) dequantise_bf16(const unsigned char* weight, const float* scales, float factor, bf16* out_matrix, int out, int in) {
    dequantise<Format, RANGE, THREADS>(weight, scales, factor, out_matrix, out, in);
}
