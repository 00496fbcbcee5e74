// Cosines and sines of the positions of a step, computed once for all layers that share them.
#pragma once
#include "step.cuh"

__device__ __forceinline__ void fill_angles(const Step& step, const float* frequencies, float factor, float* cos, float* sin,
                                            int rotary_dim, int rows) {
    const int half = rotary_dim / 2;
    const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    wait_for_previous();
    start_next();
    if (at >= static_cast<long long>(rows) * half) return;
    const int row = static_cast<int>(at / half), pair = static_cast<int>(at - static_cast<long long>(row) * half);
    // The angle is an f32 product, as in the reference implementations: at position 8,000 its last bit is worth a milliradian.
    const float angle = __fmul_rn(static_cast<float>(step.positions[row]), frequencies[pair]);
    float s, c;
    sincosf(angle, &s, &c);
    cos[at] = c * factor;
    sin[at] = s * factor;
}
