// Latent attention of spans of several tokens in absorbed form.
#pragma once
#include "latent_attention.cuh"

// A block takes 64 (token, head) pairs of a span, which lie one after another. Those with the longest contexts start first.
template <class Kv, int RANK, int ROPE>
__device__ __forceinline__ void mla_prefill_absorbed(const Step& step, const bf16* q_latent, const void* cache, bf16* o_latent, float scale, int heads) {
    using Shape = LatentShape<Kv, RANK, ROPE>;
    extern __shared__ __align__(1024) unsigned char shared[];
    TENON_ASSERT(threads_of_block() == LATENT_THREADS && dynamic_shared_bytes() >= Shape::SHARED);
    wait_for_previous();
    start_next();
    const int sequence = span_of<phase_prefill>(step, blockIdx.y);
    if (sequence < 0) return;
    const int pairs = step.length[sequence] * heads, blocks = ceil_div(pairs, LATENT_ROWS);
    if (static_cast<int>(blockIdx.x) >= blocks) return;

    const int first_pair = (blocks - 1 - static_cast<int>(blockIdx.x)) * LATENT_ROWS, rows = min(LATENT_ROWS, pairs - first_pair);
    // Looked up again after the loop: registers are few while it attends.
    auto first_row = [&] { return static_cast<long long>(step.first[span_of<phase_prefill>(step, blockIdx.y)]) * heads + first_pair; };
    const int start = step.start[sequence];
    auto limit_of = [&](int row) { return start + (first_pair + row) / heads; };
    const int end = limit_of(rows - 1) + 1;
    LatentAttention<Kv, RANK, ROPE> attention(shared);
    const int tiles = ceil_div(end, LATENT_TILE);
    if (attention.copies()) {
        attention.copy(step, cache, sequence, 0, tiles, end);
        return;
    }
    auto state = attention.attend(q_latent + first_row() * Shape::DIM, rows, 0, tiles, scale, limit_of);
    attention.store(state, o_latent + first_row() * RANK, rows);
}
