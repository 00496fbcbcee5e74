// What the two forms of the Mamba2 recurrence share: where the inputs of a head lie, and its time step.
#pragma once
#include <cfloat>

#include "softplus.cuh"
#include "step.cuh"
#include "types.cuh"

// Inputs of a layer: a row of `xbc` is x of all heads, then B of all groups, then C.
struct Mamba2 {
    const bf16* xbc;
    const float *dt, *decay, *d, *dt_bias;
    float time_step_min;
    float* states;
    bf16* y;
    int heads, groups;
};

// A bit of the error word, beside those of step.cuh.
constexpr unsigned ERROR_DECAY = 64;

// The rate at which the state of a head decays. A state that does not decay grows without bound, so what is not below 0 sets a bit of
// the error word and becomes the slowest rate.
__device__ __forceinline__ float decay_rate(const Step& step, const Mamba2& layer, int head) {
    const float rate = layer.decay[head];
    if (rate < 0.0f) return rate;
    atomicOr(step.error, ERROR_DECAY);
    return -FLT_MIN;
}

// max(softplus(dt), least); a NaN stays one.
__device__ __forceinline__ float time_step(float dt, float least) {
    const float step = softplus(dt);
    return step < least ? least : step;
}
