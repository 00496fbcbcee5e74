// y = weight * v / sqrt(mean(v^2) + eps) with v = y silu(z), a block per group of a row.
#pragma once
#include "activation.cuh"
#include "norm.cuh"

template <int DIM, int GROUPS>
__device__ __forceinline__ void gated_group_norm(bf16* y, const bf16* z, const float* weight, float eps, int rows) {
    constexpr int PART = DIM / GROUPS;
    const long long row = blockIdx.x / GROUPS;
    const int first = blockIdx.x % GROUPS * PART;
    wait_for_previous();
    start_next();
    if (row >= rows) return;
    Row<PART> v;
    v.load(y + row * DIM + first);
    v.combine(z + row * DIM + first, [](float y, float z) { return y * act_silu::of(z); });
    v.normalise(weight + first, eps);
    v.store(y + row * DIM + first);
}
