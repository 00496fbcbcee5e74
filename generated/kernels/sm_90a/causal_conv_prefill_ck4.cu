// Depthwise causal convolution, bias and silu over spans of several tokens; the last inputs stay in the state. Used by nemotron-3-super-120b-a12b, qwen3.5-122b-a10b.
// Generated from kernel-templates/causal_conv_prefill/causal_conv_prefill.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "causal_conv_prefill.cuh"

namespace {
constexpr int KERNEL = 4;
static_assert(KERNEL >= 2 && KERNEL <= 8, "a thread holds the filter of 8 channels in registers");
}

TENON_MANIFEST(causal_conv_prefill_ck4, KERNEL)

extern "C" __global__ void __launch_bounds__(CONV_THREADS) causal_conv_prefill_ck4(
    Step step, const bf16* x, const float* taps, const float* bias, float* window, bf16* out, int dim) {
    causal_conv_prefill<KERNEL>(step, x, taps, bias, window, out, dim);
}
