// x += y, then out = weight * x / sqrt(mean(x^2) + eps); a block per row.
#pragma once
#include "norm.cuh"

template <int DIM>
__device__ __forceinline__ void add_rms_norm(const float* y, float* x, const float* weight, float eps, bf16* out, int rows) {
    const long long row = blockIdx.x;
    wait_for_previous();
    start_next();
    if (row >= rows) return;
    Row<DIM> v;
    v.load(y + row * DIM);
    v.combine(x + row * DIM, [](float y, float x) { return x + y; });
    v.store(x + row * DIM);
    v.normalise(weight, eps);
    v.store(out + row * DIM);
}
