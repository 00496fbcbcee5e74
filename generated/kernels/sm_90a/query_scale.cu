// q *= 1 + beta ln(1 + floor(position / original)), in place. Used by bard-mla, mistral-small-4, mistral-small-4-nvfp4.
// Generated from kernel-templates/query_scale/query_scale.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "query_scale.cuh"
extern "C" __global__ void __launch_bounds__(256) query_scale(Step step, bf16* q, float beta, float original, int dim, int rows) {
    scale_queries(step, q, beta, original, dim, rows);
}
