// What the attention kernels share of the softmax: exponentials of base 2, capped scores, and sums over the lanes that hold a row.
#pragma once
#include "warp.cuh"

constexpr float LOG2_E = 1.4426950408889634f;

// 2^x within 2 units of the last place; 0 for -infinity.
__device__ __forceinline__ float exp2_near(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Scores of which each becomes cap tanh(scale score / cap), through e^(2x): off by a few units in the last place of the cap.
struct SoftCap {
    float cap, exponent;
    __device__ __forceinline__ SoftCap(float cap, float scale) : cap(cap), exponent(2.0f * LOG2_E * scale / cap) {}
    __device__ __forceinline__ float of(float score) const { return cap - __fdividef(2.0f * cap, exp2_near(score * exponent) + 1.0f); }
};

// Over the four lanes that hold a row of an accumulator of the tensor cores.
__device__ __forceinline__ float row_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}
__device__ __forceinline__ float row_sum(float x) {
    x += __shfl_xor_sync(0xffffffff, x, 1);
    return x + __shfl_xor_sync(0xffffffff, x, 2);
}

// The largest score so far and the sum of weights of one row, in units where a weight is 2^(factor score - factor largest).
struct RunningRow {
    float largest = -INFINITY, sum = 0.0f;

    // The exponent to subtract; 0 while every score was masked, so that nothing becomes -infinity minus -infinity.
    __device__ __forceinline__ float base(float factor) const { return largest == -INFINITY ? 0.0f : largest * factor; }

    // As below, but a score that is at most 2^SLACK times as heavy as the largest so far leaves it: sums are as exact on that, and need no
    // rescaling. Weights are 2^SLACK at most.
    static constexpr float SLACK = 8.0f;
    __device__ __forceinline__ float raise_seldom(float score, float factor) {
        return score * factor > base(factor) + SLACK || largest == -INFINITY ? raise(score, factor) : 1.0f;
    }

    // Raises the largest score and returns what weights so far are multiplied by.
    __device__ __forceinline__ float raise(float score, float factor) {
        const float before = largest;
        largest = fmaxf(largest, score);
        const float change = exp2_near(before * factor - base(factor));
        sum *= change;
        return change;
    }
};
