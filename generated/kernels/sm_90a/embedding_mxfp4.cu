// Rows of the embedding, dequantised. Used by gpt-oss-20b.
// Generated from kernel-templates/embedding/embedding.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "embedding.cuh"
namespace {
using Format = mxfp4;
}
TENON_MANIFEST(embedding_mxfp4, name_number("mxfp4"))
extern "C" __global__ void __launch_bounds__(256) embedding_mxfp4(
    Step step, const unsigned char* table, const float* scales, float factor, float* x, int dim, int vocab, int rows) {
    embedding<Format>(step, table, scales, factor, x, dim, vocab, rows);
}
