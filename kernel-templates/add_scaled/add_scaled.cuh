// x += factor * y.
#pragma once
#include "elementwise.cuh"

__device__ __forceinline__ void add_scaled_rows(float* x, const float* y, float factor, int dim, int rows) {
    each_pair(x, y, static_cast<long long>(rows) * dim, [&](long long) { return [factor](float x, float y) { return x + factor * y; }; });
}
