// Logits as keys that integers compare, and the largest of a row.
#pragma once
#include "types.cuh"
#include "warp.cuh"

constexpr int LOGIT_THREADS = 1024, LOGIT_WARPS = LOGIT_THREADS / WARP;
// What stands for a token where the logits are broken: NaN, +inf, or nothing over -inf.
constexpr int NO_TOKEN = -1;

// Grows with the logit; -0 and 0 are equal, and NaN is above everything.
__device__ __forceinline__ unsigned key_of(float logit) {
    if (logit != logit) return 0xffffffffu;
    const unsigned bits = __float_as_uint(logit + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
constexpr unsigned KEY_OF_INFINITY = 0xff800000u, KEY_OF_MINUS_INFINITY = 0x007fffffu;

__device__ __forceinline__ unsigned long long larger_of(unsigned long long x, unsigned long long y) { return x < y ? y : x; }

// The key of the largest logit above the complement of its id, so that the lowest id is the largest of equals. For the whole block,
// in every thread; `room` holds a number per warp.
__device__ __forceinline__ unsigned long long largest_logit(const float* logits, int vocab, unsigned long long* room) {
    unsigned long long best = 0;
    auto take = [&](float logit, int id) {
        best = larger_of(best, static_cast<unsigned long long>(key_of(logit)) << 32 | (0xffffffffu - static_cast<unsigned>(id)));
    };
    if (vocab % 4 == 0) {
#pragma unroll 4
        for (int i = threadIdx.x; i < vocab / 4; i += LOGIT_THREADS) {
            const float4 four = reinterpret_cast<const float4*>(logits)[i];
            take(four.x, 4 * i);
            take(four.y, 4 * i + 1);
            take(four.z, 4 * i + 2);
            take(four.w, 4 * i + 3);
        }
    } else {
        for (int i = threadIdx.x; i < vocab; i += LOGIT_THREADS) take(logits[i], i);
    }
#pragma unroll
    for (int lane = WARP / 2; lane > 0; lane /= 2) best = larger_of(best, __shfl_xor_sync(0xffffffff, best, lane));
    if (threadIdx.x % WARP == 0) room[threadIdx.x / WARP] = best;
    __syncthreads();
    for (int warp = 0; warp < LOGIT_WARPS; warp++) best = larger_of(best, room[warp]);
    return best;
}

// The token of such a number.
__device__ __forceinline__ int token_of(unsigned long long best) {
    const unsigned key = static_cast<unsigned>(best >> 32);
    if (key >= KEY_OF_INFINITY || key <= KEY_OF_MINUS_INFINITY) return NO_TOKEN;
    return static_cast<int>(0xffffffffu - static_cast<unsigned>(best));
}
