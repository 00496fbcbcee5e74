// The last product of experts for many tokens, from the order of the experts to that of the pairs.
#pragma once
#include "experts_many.cuh"

template <class F>
__device__ __forceinline__ void experts_down_many(const bf16* inner, const unsigned char* stack, const float* scales,
                                                  const float* factors, const float* down_bias, const int* order, const int* offsets,
                                                  const int* tiles, void* parts, int hidden, int intermediate, int top_k) {
    many_experts<F, false, true>(
        inner, stack, scales, order, offsets, tiles, hidden, intermediate, top_k,
        [&](int expert, int place, int column, float2, float2 down) {
            const float factor = __ldg(factors + expert);
            bf16* row = static_cast<bf16*>(parts) + static_cast<long long>(order[place]) * hidden;
            const float a = factor * down.x + bias_of(down_bias, expert, column, hidden);
            const float b = factor * down.y + bias_of(down_bias, expert, min(column + 1, hidden - 1), hidden);
            store_two(row, column, hidden, a, b);
        });
}
