// The first products of experts and what stands between the products, for 16 tokens at most. Used by mistral-small-4-nvfp4, qwen3.5-122b-a10b.
// Generated from kernel-templates/experts_up_few/experts_up_few.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "experts_up_few.cuh"
namespace {
using Format = nvfp4;
using Form = form_gated<act_silu>;
constexpr unsigned FORM = name_number("gated"), ACT = name_number("silu");
static_assert(FORM != name_number("clamped") || ACT == name_number("silu"), "the clamped form is made of silu");
}
TENON_MANIFEST(experts_up_few_nvfp4_gated_silu, name_number("nvfp4"), FORM, ACT)
extern "C" __global__ void __launch_bounds__(128, FEW_BLOCKS<Format>) experts_up_few_nvfp4_gated_silu(
    const bf16* x, const unsigned char* stack, const float* scales, const float* factors, const float* gate_bias, const float* up_bias,
    const int* ids, bf16* inner, float limit, float alpha, int hidden, int intermediate, int experts, int top_k, int rows) {
    experts_up_few<Format, Form>(x, stack, scales, factors, gate_bias, up_bias, ids, inner, limit, alpha, hidden, intermediate, experts,
                                 top_k, rows);
}
