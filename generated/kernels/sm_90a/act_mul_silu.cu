// gate = act(gate) * up, in place. Used by bard-mla, deepseek-v3, llama-3.1-8b, mistral-small-4, mistral-small-4-nvfp4, qwen3-0.6b, qwen3-8b, qwen3.5-122b-a10b, smollm2-135m-instruct.
// Generated from kernel-templates/act_mul/act_mul.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "act_mul.cuh"
namespace {
using Act = act_silu;
}
TENON_MANIFEST(act_mul_silu, name_number("silu"))
extern "C" __global__ void __launch_bounds__(256) act_mul_silu(bf16* gate, const bf16* up, int dim, int rows) {
    act_mul<Act>(gate, up, dim, rows);
}
