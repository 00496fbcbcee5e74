// The first products of experts and what stands between the products, for many tokens: tiles of the pairs sorted by expert. Used by nemotron-3-super-120b-a12b.
// Generated from kernel-templates/experts_up_many/experts_up_many.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "experts_up_many.cuh"
namespace {
using Format = nvfp4;
using Form = form_plain<act_relu2>;
constexpr unsigned FORM = name_number("plain"), ACT = name_number("relu2");
static_assert(FORM != name_number("clamped") || ACT == name_number("silu"), "the clamped form is made of silu");
}
TENON_MANIFEST(experts_up_many_nvfp4_plain_relu2, name_number("nvfp4"), FORM, ACT)
extern "C" __global__ void __launch_bounds__(256, MANY_BLOCKS<Format>) experts_up_many_nvfp4_plain_relu2(
    const bf16* x, const unsigned char* stack, const float* scales, const float* factors, const float* gate_bias, const float* up_bias,
    const int* order, const int* offsets, const int* tiles, bf16* inner, float limit, float alpha, int hidden, int intermediate,
    int experts, int top_k, int rows) {
    experts_up_many<Format, Form>(x, stack, scales, factors, gate_bias, up_bias, order, offsets, tiles, inner, limit, alpha, hidden,
                                  intermediate, top_k);
}
