// Depthwise causal convolution, bias and silu over spans of one token; the last inputs stay in the state. A thread has 8 channels.
#pragma once
#include "conv.cuh"

template <int KERNEL>
__device__ __forceinline__ void causal_conv_decode(const Step& step, const bf16* x, const float* taps, const float* bias, float* window,
                                                   bf16* out, int dim) {
    constexpr int KEPT = KERNEL - 1;
    const int channel = (blockIdx.x * CONV_THREADS + threadIdx.x) * 8;
    if (channel >= dim) return;
    const ConvWeights<KERNEL> weights(taps, bias, channel, dim);
    wait_for_previous();
    start_next();
    const int sequence = step.decode[blockIdx.y];
    if (sequence < 0) return;
    const long long at = static_cast<long long>(step.first[sequence]) * dim + channel;
    int slot = step.slot[sequence];
    if (slot < 0) {
        store_zeros(out + at);
        return;
    }
    TENON_ASSERT(is_own_slot(step, sequence) && dim % 8 == 0);
    slot = checked(step, slot, step.slots, ERROR_SLOT);
    float* kept = window + static_cast<long long>(slot) * KEPT * dim + channel;
    const bool begins = step.start[sequence] == 0;
    float inputs[KERNEL][8];
#pragma unroll
    for (int i = 0; i < KEPT; i++) load_kept(inputs[i], kept + static_cast<long long>(i) * dim, begins);
    load_inputs(inputs[KEPT], x + at);
#pragma unroll
    for (int i = 0; i < KEPT; i++) store_kept(kept + static_cast<long long>(i) * dim, inputs[i + 1]);
    weights.store(out + at, inputs);
}
