// Cosines and sines of the positions of a step. Used by bard-mla, deepseek-v3, gemma-3-270m, gpt-oss-20b, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
// Generated from kernel-templates/rope_angles/rope_angles.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "rope_angles.cuh"
extern "C" __global__ void __launch_bounds__(256) rope_angles(
    Step step, const float* frequencies, float factor, float* cos, float* sin, int rotary_dim, int rows) {
    fill_angles(step, frequencies, factor, cos, sin, rotary_dim, rows);
}
