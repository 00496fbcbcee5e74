// The last product of experts for a few tokens, by pair.
#pragma once
#include "experts_few.cuh"

template <class F>
__device__ __forceinline__ void experts_down_few(const bf16* inner, const unsigned char* stack, const float* scales,
                                                 const float* factors, const float* down_bias, const int* ids, void* parts, int hidden,
                                                 int intermediate, int experts, int top_k, int rows) {
    few_experts<F, false, true>(
        inner, stack, scales, ids, hidden, intermediate, experts, top_k, rows, [&](int expert, int row, int pair, float, float down) {
            const float part = __ldg(factors + expert) * down + bias_of(down_bias, expert, row, hidden);
            static_cast<float*>(parts)[static_cast<long long>(pair) * hidden + row] = part;
        });
}
