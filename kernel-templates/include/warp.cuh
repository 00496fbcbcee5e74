// Reductions over a warp and over a thread block.
#pragma once
#include "contract.cuh"

constexpr int WARP = 32;

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int lane = WARP / 2; lane > 0; lane /= 2) x += __shfl_xor_sync(0xffffffff, x, lane);
    return x;
}

__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
    for (int lane = WARP / 2; lane > 0; lane /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, lane));
    return x;
}

// The sum over a thread block of WARPS warps, in every thread. `room` holds WARPS floats; the block may call again at once.
template <int WARPS> __device__ __forceinline__ float block_sum(float x, float* room) {
    TENON_ASSERT(threads_of_block() == WARPS * WARP);
    x = warp_sum(x);
    if constexpr (WARPS == 1) return x;
    __syncthreads();
    if (threadIdx.x % WARP == 0) room[threadIdx.x / WARP] = x;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int warp = 0; warp < WARPS; warp++) sum += room[warp];
    return sum;
}
