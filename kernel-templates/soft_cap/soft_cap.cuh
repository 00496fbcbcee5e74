// x = cap tanh(x / cap).
#pragma once
#include "elementwise.cuh"

__device__ __forceinline__ void soft_cap_rows(float* x, float cap, int dim, int rows) {
    each(x, static_cast<long long>(rows) * dim, [&](long long) { return [cap](float x) { return cap * tanhf(x / cap); }; });
}
