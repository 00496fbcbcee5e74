// Activation functions, under the names that specs use.
#pragma once

// 1 or e over 1 + e with e = exp(-|x|): nothing overflows.
__device__ __forceinline__ float sigmoid(float x) {
    const float e = expf(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

struct act_silu {
    static __device__ __forceinline__ float of(float x) { return x * sigmoid(x); }
};

// 0.5 x erfc(-x / sqrt(2)): the complement keeps the digits of the tail of negative x.
struct act_gelu {
    static __device__ __forceinline__ float of(float x) { return 0.5f * x * erfcf(x * -0.70710678f); }
};

// 0.5 (1 + tanh z) = sigmoid(2 z), with z = sqrt(2/pi) (x + 0.044715 x^3).
struct act_gelu_pytorch_tanh {
    static __device__ __forceinline__ float of(float x) { return x * sigmoid(1.5957692f * (x + 0.044715f * (x * (x * x)))); }
};

// max(x, 0)^2; NaN stays.
struct act_relu2 {
    static __device__ __forceinline__ float of(float x) {
        const float positive = x < 0.0f ? 0.0f : x;
        return positive * positive;
    }
};
