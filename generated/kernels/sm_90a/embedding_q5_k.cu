// Rows of the embedding, dequantised. Used by gemma-3-270m.
// Generated from kernel-templates/embedding/embedding.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "embedding.cuh"
namespace {
using Format = q5_k;
}
TENON_MANIFEST(embedding_q5_k, name_number("q5_k"))
extern "C" __global__ void __launch_bounds__(256) embedding_q5_k(
    Step step, const unsigned char* table, const float* scales, float factor, float* x, int dim, int vocab, int rows) {
    embedding<Format>(step, table, scales, factor, x, dim, vocab, rows);
}
