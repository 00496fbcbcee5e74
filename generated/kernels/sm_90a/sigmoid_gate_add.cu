// x += sigmoid(gate) * y, with one gate per row. Used by qwen3.5-122b-a10b.
// Generated from kernel-templates/sigmoid_gate_add/sigmoid_gate_add.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "sigmoid_gate_add.cuh"
extern "C" __global__ void __launch_bounds__(256) sigmoid_gate_add(float* x, const float* gate, const float* y, int dim, int rows) {
    sigmoid_gate_add_rows(x, gate, y, dim, rows);
}
