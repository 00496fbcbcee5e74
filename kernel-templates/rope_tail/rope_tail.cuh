// Rotates the last elements of every head of bf16 rows, in place.
#pragma once
#include "head.cuh"

template <int HEAD_DIM, int ROTARY_DIM, bool INTERLEAVED>
__device__ __forceinline__ void rope_tail(bf16* x, const float* cos, const float* sin, int dim, int rows) {
    using H = Head<HEAD_DIM, ROTARY_DIM, HEAD_DIM - ROTARY_DIM, INTERLEAVED>;
    const int heads_of_row = dim / HEAD_DIM;
    wait_for_previous();
    start_next();
    each_head<H>(static_cast<long long>(rows) * heads_of_row, [&](long long head, bool valid) {
        if (!valid) return;
        const long long row = head / heads_of_row;
        H h;
        h.load_pairs(x + head * HEAD_DIM);
        h.rotate(cos + row * H::HALF, sin + row * H::HALF);
        h.store_pairs(x + head * HEAD_DIM);
    });
}
