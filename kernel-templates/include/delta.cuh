// What the two forms of the gated delta rule share: where the inputs of a head lie, and its scalars.
#pragma once
#include "softplus.cuh"
#include "step.cuh"
#include "types.cuh"

// Inputs of a layer: a row of `qkv` is q of all key heads, then k, then v of all value heads.
struct Delta {
    const bf16* qkv;
    const float *a, *b, *decay, *dt_bias;
    float* states;
    bf16* y;
    int key_heads, value_heads;
};

// Added to the sum of squares of a query or key.
constexpr float DELTA_NORM_EPS = 1e-6f;

// How much of a token's value is written.
__device__ __forceinline__ float delta_beta(float b) { return 1.0f / (1.0f + expf(-b)); }
