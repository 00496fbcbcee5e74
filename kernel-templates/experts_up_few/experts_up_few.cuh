// The first products of experts for a few tokens, and what stands between the products, by pair.
#pragma once
#include "experts_few.cuh"

template <class F, class Form>
__device__ __forceinline__ void experts_up_few(const bf16* x, const unsigned char* stack, const float* scales, const float* factors,
                                               const float* gate_bias, const float* up_bias, const int* ids, bf16* inner, float limit,
                                               float alpha, int hidden, int intermediate, int experts, int top_k, int rows) {
    few_experts<F, Form::GATED, false>(
        x, stack, scales, ids, intermediate, hidden, experts, top_k, rows, [&](int expert, int row, int pair, float gate, float up) {
            if constexpr (Form::GATED) gate = __ldg(factors + 2 * expert) * gate + bias_of(gate_bias, expert, row, intermediate);
            up = __ldg(factors + (Form::GATED ? 2 * expert + 1 : expert)) * up + bias_of(up_bias, expert, row, intermediate);
            inner[static_cast<long long>(pair) * intermediate + row] = from_float<bf16>(Form::of(gate, up, limit, alpha));
        });
}
