// gate = act(gate) * up, in place. Used by gemma-3-270m.
// Generated from kernel-templates/act_mul/act_mul.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "act_mul.cuh"
namespace {
using Act = act_gelu_pytorch_tanh;
}
TENON_MANIFEST(act_mul_gelu_pytorch_tanh, name_number("gelu_pytorch_tanh"))
extern "C" __global__ void __launch_bounds__(256) act_mul_gelu_pytorch_tanh(bf16* gate, const bf16* up, int dim, int rows) {
    act_mul<Act>(gate, up, dim, rows);
}
