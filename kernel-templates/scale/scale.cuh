// x *= factor.
#pragma once
#include "elementwise.cuh"

__device__ __forceinline__ void scale_rows(float* x, float factor, int dim, int rows) {
    each(x, static_cast<long long>(rows) * dim, [&](long long) { return [factor](float x) { return x * factor; }; });
}
