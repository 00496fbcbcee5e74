// q *= 1 + beta ln(1 + floor(position / original)), row by row.
#pragma once
#include "elementwise.cuh"

__device__ __forceinline__ void scale_queries(const Step& step, bf16* q, float beta, float original, int dim, int rows) {
    // The quotient is one of integers, so that it is never rounded up to the next.
    const int context = static_cast<int>(original);
    auto factor_of = [&](int row) { return 1.0f + beta * logf(1.0f + static_cast<float>(step.positions[row] / context)); };
    each(q, static_cast<long long>(rows) * dim, [&](long long at) {
        int row = static_cast<int>(at / dim), column = static_cast<int>(at - static_cast<long long>(row) * dim);
        float factor = factor_of(row);
        return [=](float x) mutable {
            if (column == dim) {
                column = 0;
                factor = factor_of(++row);
            }
            column++;
            return x * factor;
        };
    });
}
