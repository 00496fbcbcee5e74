// out = weight * x / sqrt(mean(x^2) + eps), a block per row.
#pragma once
#include "norm.cuh"

template <class X, int DIM> __device__ __forceinline__ void rms_norm(const X* x, const float* weight, float eps, bf16* out, int rows) {
    const long long row = blockIdx.x;
    wait_for_previous();
    start_next();
    if (row >= rows) return;
    Row<DIM> v;
    v.load(x + row * DIM);
    v.normalise(weight, eps);
    v.store(out + row * DIM);
}
