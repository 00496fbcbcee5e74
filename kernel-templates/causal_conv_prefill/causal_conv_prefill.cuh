// Depthwise causal convolution, bias and silu over spans of several tokens; the last inputs stay in the state.
//
// A thread has 8 channels of up to 32 tokens. Outputs go to their own memory, since other blocks still read the inputs. The block with a
// span's first tokens alone reads and then replaces the state: no later token of the span looks back past its start that far.
#pragma once
#include "conv.cuh"

constexpr int CONV_TOKENS = 32;

template <int KERNEL>
__device__ __forceinline__ void causal_conv_prefill(const Step& step, const bf16* x, const float* taps, const float* bias, float* window,
                                                    bf16* out, int dim) {
    // Tokens whose inputs are loaded before the first is used.
    constexpr int TOGETHER = 8, KEPT = KERNEL - 1;
    static_assert(KEPT <= CONV_TOKENS, "the state is of no use to a span's later blocks");
    const int channel = (blockIdx.x * CONV_THREADS + threadIdx.x) * 8;
    if (channel >= dim) return;
    const ConvWeights<KERNEL> weights(taps, bias, channel, dim);
    wait_for_previous();
    start_next();
    if (static_cast<int>(blockIdx.z) >= step.counts[COUNT_PREFILL]) return;
    const int sequence = step.prefill[blockIdx.z], length = step.length[sequence];
    const int begin = blockIdx.y * CONV_TOKENS, end = min(begin + CONV_TOKENS, length);
    if (begin >= length) return;
    const long long start = static_cast<long long>(step.first[sequence]) * dim + channel;
    x += start, out += start;
    int slot = step.slot[sequence];
    if (slot < 0) {
        for (int token = begin; token < end; token++) store_zeros(out + static_cast<long long>(token) * dim);
        return;
    }
    TENON_ASSERT(is_own_slot(step, sequence) && dim % 8 == 0);
    slot = checked(step, slot, step.slots, ERROR_SLOT);
    float* kept = window + static_cast<long long>(slot) * KEPT * dim + channel;

    // The inputs before a token, then those of the tokens that are computed together.
    float inputs[KEPT + TOGETHER][8];
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        if (begin > 0) load_inputs(inputs[i], x + static_cast<long long>(begin - KEPT + i) * dim);
        else load_kept(inputs[i], kept + static_cast<long long>(i) * dim, step.start[sequence] == 0);
    }
    if (begin == 0) {
        // What the state keeps: the last inputs, of this span or of the state before it.
#pragma unroll
        for (int i = 0; i < KEPT; i++) {
            const int token = length - KEPT + i;
            float last[8];
            if (token >= 0) load_inputs(last, x + static_cast<long long>(token) * dim);
#pragma unroll
            for (int before = 0; before < KEPT; before++)
                if (token == before - KEPT) copy_inputs(last, inputs[before]);
            store_kept(kept + static_cast<long long>(i) * dim, last);
        }
    }
    for (int token = begin; token < end; token += TOGETHER) {
        uint4 raw[TOGETHER];
#pragma unroll
        for (int i = 0; i < TOGETHER; i++)
            raw[i] = token + i < end ? *reinterpret_cast<const uint4*>(x + static_cast<long long>(token + i) * dim) : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) widen(inputs[KEPT + i], raw[i]);
#pragma unroll
        for (int i = 0; i < TOGETHER; i++)
            if (token + i < end) weights.store(out + static_cast<long long>(token + i) * dim, &inputs[i]);
#pragma unroll
        for (int i = 0; i < KEPT; i++) copy_inputs(inputs[i], inputs[TOGETHER + i]);
    }
}
