// What the two forms of the causal convolution share: 8 channels of one token and of the filter.
#pragma once
#include "step.cuh"
#include "types.cuh"

constexpr int CONV_THREADS = 64;

__device__ __forceinline__ void widen(float (&to)[8], const uint4& from) {
    const unsigned pairs[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        to[2 * i] = __uint_as_float(pairs[i] << 16);
        to[2 * i + 1] = __uint_as_float(pairs[i] & 0xffff0000u);
    }
}
__device__ __forceinline__ void load_inputs(float (&to)[8], const bf16* from) { widen(to, *reinterpret_cast<const uint4*>(from)); }
__device__ __forceinline__ void copy_inputs(float (&to)[8], const float (&from)[8]) {
#pragma unroll
    for (int i = 0; i < 8; i++) to[i] = from[i];
}

// Inputs that the state keeps; zeros for a sequence that begins.
__device__ __forceinline__ void load_kept(float (&to)[8], const float* from, bool begins) {
    float4 low = make_float4(0.0f, 0.0f, 0.0f, 0.0f), high = low;
    if (!begins) low = *reinterpret_cast<const float4*>(from), high = *reinterpret_cast<const float4*>(from + 4);
    to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
    to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}
__device__ __forceinline__ void store_kept(float* to, const float (&from)[8]) {
    *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
    *reinterpret_cast<float4*>(to + 4) = make_float4(from[4], from[5], from[6], from[7]);
}
__device__ __forceinline__ void store_zeros(bf16* to) { *reinterpret_cast<uint4*>(to) = make_uint4(0, 0, 0, 0); }

template <int KERNEL> struct ConvWeights {
    float taps[KERNEL][8], bias[8];

    // `all` is `[KERNEL][dim]`; there may be no bias.
    __device__ __forceinline__ ConvWeights(const float* all, const float* biases, int channel, int dim) {
#pragma unroll
        for (int tap = 0; tap < KERNEL; tap++) load_kept(taps[tap], all + static_cast<long long>(tap) * dim + channel, false);
        load_kept(bias, biases + channel, biases == nullptr);
    }

    // silu of the filter over KERNEL inputs, the oldest first.
    __device__ __forceinline__ void store(bf16* to, const float (*inputs)[8]) const {
        Pack<bf16> y;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float sum = bias[i];
#pragma unroll
            for (int tap = 0; tap < KERNEL; tap++) sum = fmaf(taps[tap][i], inputs[tap][i], sum);
            y.at[i] = from_float<bf16>(sum / (1.0f + expf(-sum)));
        }
        *reinterpret_cast<Pack<bf16>*>(to) = y;
    }
};
