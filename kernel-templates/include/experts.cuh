// What kernels of experts have in common: what stands between the products of an expert, and how pairs are tiled.
#pragma once
#include "activation.cuh"

// Places in the order of the experts that one tile has at most: what `expert_tiles` divides by, and rows of a block of the products.
constexpr int EXPERT_TILE = 128;
// The most experts that a token goes to.
constexpr int MAX_TOP_K = 32;
// The most rows of a launch of the kernels for few tokens.
constexpr int FEW_ROWS = 16;

// `act(up)`, of experts without gates.
template <class Act> struct form_plain {
    static constexpr bool GATED = false;
    static __device__ __forceinline__ float of(float, float up, float, float) { return Act::of(up); }
};

// `act(gate) * up`
template <class Act> struct form_gated {
    static constexpr bool GATED = true;
    static __device__ __forceinline__ float of(float gate, float up, float, float) { return Act::of(gate) * up; }
};

// The clamped SwiGLU of gpt-oss: with `gate` at most `limit` and `up` within `-limit..=limit`, `(up + 1) gate sigmoid(alpha gate)`.
// NaN stays.
template <class Act> struct form_clamped {
    static constexpr bool GATED = true;
    static __device__ __forceinline__ float of(float gate, float up, float limit, float alpha) {
        gate = limit < gate ? limit : gate;
        up = limit < up ? limit : up < -limit ? -limit : up;
        return (up + 1.0f) * (gate * sigmoid(alpha * gate));
    }
};

// Element `row` of the bias of an expert; 0 where the model has none.
__device__ __forceinline__ float bias_of(const float* bias, int expert, int row, int len) {
    return bias ? __ldg(bias + static_cast<long long>(expert) * len + row) : 0.0f;
}
