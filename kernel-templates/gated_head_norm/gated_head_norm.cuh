// y = weight * y / sqrt(mean(y^2) + eps) * silu(z), for every head of bf16 rows, in place.
#pragma once
#include "activation.cuh"
#include "head.cuh"

template <int HEAD_DIM>
__device__ __forceinline__ void gated_head_norm(bf16* y, const bf16* z, const float* weight, float eps, int dim, int rows) {
    using H = Head<HEAD_DIM, 0, 0, false>;
    const long long heads = static_cast<long long>(rows) * (dim / HEAD_DIM);
    wait_for_previous();
    start_next();
    each_head<H>(heads, [&](long long head, bool valid) {
        H h;
        h.clear();
        if (valid) h.load(y + head * HEAD_DIM);
        h.normalise(weight, eps);
        if (!valid) return;
        h.rests([&](float(&v)[H::RV], int at) {
            float gate[H::RV];
            load_vector<H::RV>(z + head * HEAD_DIM + at, gate);
#pragma unroll
            for (int i = 0; i < H::RV; i++) v[i] *= act_silu::of(gate[i]);
        });
        h.store(y + head * HEAD_DIM);
    });
}
