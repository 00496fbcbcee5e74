// A token drawn from the softmax of each row: temperature, then top_k, then top_p. Used by bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
// Generated from kernel-templates/sample/sample.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "sample.cuh"
extern "C" __global__ void __launch_bounds__(1024) __cluster_dims__(8, 1, 1) sample(
    const float* logits, const float* temperature, const int* top_k, const float* top_p, const float* random, int* ids,
    int vocab, int rows) {
    sample_rows(logits, temperature, top_k, top_p, random, ids, vocab, rows);
}
