// What the two forms of the Mamba2 recurrence share: where the inputs of a head lie, and its time step.
#pragma once
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

// max(softplus(dt), least); a NaN stays one.
__device__ __forceinline__ float time_step(float dt, float least) {
    const float step = softplus(dt);
    return step < least ? least : step;
}
