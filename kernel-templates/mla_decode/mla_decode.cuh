// Latent attention of spans of one token in absorbed form, the context in parts.
#pragma once
#include "latent_attention.cuh"

// A block takes 64 heads of a span and a part of its context, so that the latents are read once for all of them. Where the context is one
// part, the output is written at once; else each part leaves its accumulator, maximum and sum, for mla_combine.
template <class Kv, int RANK, int ROPE>
__device__ __forceinline__ void mla_decode(const Step& step, const bf16* q_latent, const void* cache, bf16* o_latent, float scale,
                                           float* workspace, int kv_splits, int heads) {
    using Shape = LatentShape<Kv, RANK, ROPE>;
    extern __shared__ __align__(1024) unsigned char shared[];
    const int first_head = blockIdx.x * LATENT_ROWS, split = blockIdx.y, span = blockIdx.z;
    TENON_ASSERT(threads_of_block() == LATENT_THREADS && dynamic_shared_bytes() >= Shape::SHARED && split < kv_splits);
    wait_for_previous();
    start_next();
    const int sequence = span_of<phase_decode>(step, span);
    if (sequence < 0) return;
    const int context = context_of(step, sequence);
    const Parts parts = parts_of(context, kv_splits);
    if (split >= parts.parts) return;

    // Looked up again after the loop, like the parts: registers are few while it attends.
    auto first_row = [&] { return static_cast<long long>(step.first[span_of<phase_decode>(step, blockIdx.z)]) * heads + first_head; };
    const int rows = min(LATENT_ROWS, heads - first_head);
    const int first = split * parts.per_part, last = min(first + parts.per_part, parts.tiles);
    LatentAttention<Kv, RANK, ROPE> attention(shared);
    if (attention.copies()) {
        attention.copy(step, cache, sequence, first, last, context);
        return;
    }
    auto limit_of = [&](int) { return context - 1; };
    auto state = attention.attend(q_latent + first_row() * Shape::DIM, rows, first, last, scale, limit_of);
    if (parts_of(context_of(step, span_of<phase_decode>(step, blockIdx.z)), kv_splits).parts == 1) {
        attention.store(state, o_latent + first_row() * RANK, rows);
        return;
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = attention.row() + 8 * half;
        if (row >= rows) continue;
        float* to = workspace + ((static_cast<long long>(span) * heads + first_head + row) * kv_splits + split) * (RANK + 2);
#pragma unroll
        for (int j = 0; j < Shape::HALF * 8; j++) {
            if (attention.column(j) >= RANK) continue;
            *reinterpret_cast<float2*>(to + attention.column(j)) = {state.out[4 * j + 2 * half], state.out[4 * j + 2 * half + 1]};
        }
        if (attention.group == 0 && attention.lane % 4 == 0) *reinterpret_cast<float2*>(to + RANK) = {state.maximum[half], state.sum[half]};
    }
}
