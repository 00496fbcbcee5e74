// Rows of the embedding, dequantised. Used by bard-mla, deepseek-v3, gemma-3-270m, llama-3.1-8b, mistral-small-4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
// Generated from kernel-templates/embedding/embedding.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "embedding.cuh"
namespace {
using Format = f32;
}
TENON_MANIFEST(embedding_f32, name_number("f32"))
extern "C" __global__ void __launch_bounds__(256) embedding_f32(
    Step step, const unsigned char* table, const float* scales, float factor, float* x, int dim, int vocab, int rows) {
    embedding<Format>(step, table, scales, factor, x, dim, vocab, rows);
}
