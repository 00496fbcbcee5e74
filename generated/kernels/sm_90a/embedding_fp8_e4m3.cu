// Rows of the embedding, dequantised. Used by deepseek-v3, mistral-small-4.
// Generated from kernel-templates/embedding/embedding.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "embedding.cuh"
namespace {
using Format = fp8_e4m3;
}
TENON_MANIFEST(embedding_fp8_e4m3, name_number("fp8_e4m3"))
extern "C" __global__ void __launch_bounds__(256) embedding_fp8_e4m3(
    Step step, const unsigned char* table, const float* scales, float factor, float* x, int dim, int vocab, int rows) {
    embedding<Format>(step, table, scales, factor, x, dim, vocab, rows);
}
