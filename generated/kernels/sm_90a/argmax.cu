// The token with the largest logit, the lowest of equals. Used by bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
// Generated from kernel-templates/argmax/argmax.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "argmax.cuh"
extern "C" __global__ void __launch_bounds__(1024) argmax(const float* logits, int* ids, int vocab, int rows) {
    argmax_rows(logits, ids, vocab, rows);
}
