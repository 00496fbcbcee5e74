// x += weight * y / sqrt(mean(y^2) + eps), a block per row.
#pragma once
#include "norm.cuh"

template <int DIM> __device__ __forceinline__ void rms_norm_add(const float* y, const float* weight, float eps, float* x, int rows) {
    const long long row = blockIdx.x;
    wait_for_previous();
    start_next();
    if (row >= rows) return;
    Row<DIM> v;
    v.load(y + row * DIM);
    v.normalise(weight, eps);
    v.combine(x + row * DIM, [](float y, float x) { return x + y; });
    v.store(x + row * DIM);
}
