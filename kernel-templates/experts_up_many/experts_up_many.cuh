// The first products of experts for many tokens, and what stands between the products, in the order of the experts.
#pragma once
#include "experts_many.cuh"

template <class F, class Form>
__device__ __forceinline__ void experts_up_many(const bf16* x, const unsigned char* stack, const float* scales, const float* factors,
                                                const float* gate_bias, const float* up_bias, const int* order, const int* offsets,
                                                const int* tiles, bf16* inner, float limit, float alpha, int hidden, int intermediate,
                                                int top_k) {
    many_experts<F, Form::GATED, false>(
        x, stack, scales, order, offsets, tiles, intermediate, hidden, top_k,
        [&](int expert, int place, int column, float2 gate, float2 up) {
            const float gate_factor = Form::GATED ? __ldg(factors + 2 * expert) : 0.0f;
            const float up_factor = __ldg(factors + (Form::GATED ? 2 * expert + 1 : expert));
            const auto of = [&](float gate, float up, int column) {
                column = min(column, intermediate - 1);
                if constexpr (Form::GATED) gate = gate_factor * gate + bias_of(gate_bias, expert, column, intermediate);
                up = up_factor * up + bias_of(up_bias, expert, column, intermediate);
                return Form::of(gate, up, limit, alpha);
            };
            bf16* row = inner + static_cast<long long>(place) * intermediate;
            store_two(row, column, intermediate, of(gate.x, up.x, column), of(gate.y, up.y, column + 1));
        });
}
