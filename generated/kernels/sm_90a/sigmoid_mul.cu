// x *= sigmoid(gate), in place. Used by qwen3.5-122b-a10b.
// Generated from kernel-templates/sigmoid_mul/sigmoid_mul.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "sigmoid_mul.cuh"
extern "C" __global__ void __launch_bounds__(256) sigmoid_mul(bf16* x, const bf16* gate, int dim, int rows) {
    sigmoid_mul_rows(x, gate, dim, rows);
}
