// The rows that want logits. Used by bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
// Generated from kernel-templates/gather_logit_rows/gather_logit_rows.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "gather_logit_rows.cuh"
extern "C" __global__ void __launch_bounds__(256) gather_logit_rows(Step step, const float* x, float* last, int dim, int rows) {
    gather_rows(step, x, last, dim, rows);
}
