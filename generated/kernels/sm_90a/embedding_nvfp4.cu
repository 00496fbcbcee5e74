// Rows of the embedding, dequantised. Used by mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
// Generated from kernel-templates/embedding/embedding.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "embedding.cuh"
namespace {
using Format = nvfp4;
}
TENON_MANIFEST(embedding_nvfp4, name_number("nvfp4"))
extern "C" __global__ void __launch_bounds__(256) embedding_nvfp4(
    Step step, const unsigned char* table, const float* scales, float factor, float* x, int dim, int vocab, int rows) {
    embedding<Format>(step, table, scales, factor, x, dim, vocab, rows);
}
