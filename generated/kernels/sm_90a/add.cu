// x += y. Used by bard-mla, deepseek-v3, gpt-oss-20b, mistral-small-4, mistral-small-4-nvfp4, nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
// Generated from kernel-templates/add/add.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "add.cuh"
extern "C" __global__ void __launch_bounds__(256) add(float* x, const float* y, int dim, int rows) {
    add_rows(x, y, dim, rows);
}
