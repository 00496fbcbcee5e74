// x += bias, row by row.
#pragma once
#include "elementwise.cuh"

template <class X> __device__ __forceinline__ void add_bias(X* x, const float* bias, int dim, int rows) {
    each(x, static_cast<long long>(rows) * dim, [&](long long at) {
        int column = static_cast<int>(at % dim);
        return [=](float x) mutable {
            const float sum = x + bias[column];
            column = column + 1 == dim ? 0 : column + 1;
            return sum;
        };
    });
}
