// RMS norm of every head of bf16 rows, in place, with the same weights.
#pragma once
#include "head.cuh"

template <int HEAD_DIM> __device__ __forceinline__ void head_norm(bf16* x, const float* weight, float eps, int dim, int rows) {
    using H = Head<HEAD_DIM, 0, 0, false>;
    const long long heads = static_cast<long long>(rows) * (dim / HEAD_DIM);
    wait_for_previous();
    start_next();
    each_head<H>(heads, [&](long long head, bool valid) {
        H h;
        h.clear();
        if (valid) h.load(x + head * HEAD_DIM);
        h.normalise(weight, eps);
        if (valid) h.store(x + head * HEAD_DIM);
    });
}
