// Latent attention of spans of one token: the parts of a context become one output.
#pragma once
#include "sizes.cuh"
#include "latent.cuh"

constexpr int COMBINE_THREADS = 128;


// A block takes a head of a span. What the parts hold is weighed by how far their maxima are from the largest.
template <int RANK> __device__ __forceinline__ void mla_combine(const Step& step, const float* workspace, bf16* o_latent, int kv_splits, int heads) {
    __shared__ float maxima[MOST_SPLITS], sums[MOST_SPLITS];
    const int head = blockIdx.x, span = blockIdx.y;
    wait_for_previous();
    start_next();
    const int sequence = span_of<phase_decode>(step, span);
    if (sequence < 0) return;
    const int parts = parts_of(context_of(step, sequence), kv_splits).parts;
    if (parts == 1) return;

    const float* from = workspace + (static_cast<long long>(span) * heads + head) * kv_splits * (RANK + 2);
    for (int part = threadIdx.x; part < parts; part += COMBINE_THREADS) {
        float2 last = *reinterpret_cast<const float2*>(from + static_cast<long long>(part) * (RANK + 2) + RANK);
        maxima[part] = last.x;
        sums[part] = last.y;
    }
    __syncthreads();
    float maximum = -INFINITY, sum = 0.0f;
    for (int part = 0; part < parts; part++) maximum = fmaxf(maximum, maxima[part]);
    for (int part = 0; part < parts; part++) sum += sums[part] * exp2_of(maxima[part] - maximum);
    const float share = 1.0f / sum;
    bf16* to = o_latent + (static_cast<long long>(step.first[sequence]) * heads + head) * RANK;
    for (int column = 2 * threadIdx.x; column < RANK; column += 2 * COMBINE_THREADS) {
        float x = 0.0f, y = 0.0f;
#pragma unroll 8
        for (int part = 0; part < parts; part++) {
            float2 value = *reinterpret_cast<const float2*>(from + static_cast<long long>(part) * (RANK + 2) + column);
            float weight = exp2_of(maxima[part] - maximum);
            x += weight * value.x;
            y += weight * value.y;
        }
        *reinterpret_cast<unsigned*>(to + column) = pack_bf16(x * share, y * share);
    }
}
