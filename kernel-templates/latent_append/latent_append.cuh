// What happens to a latent before attention: the norm of its first part, the rotation of the rest, and the append to the paged
// cache, without roundings in between.
#pragma once
#include "head.cuh"

template <int RANK, int ROPE, bool INTERLEAVED, class Cache>
__device__ __forceinline__ void latent_append(const Step& step, const bf16* latent, const float* weight, float eps, const float* cos,
                                              const float* sin, void* cache, int rows) {
    // A latent is a head of which the last elements are rotated.
    using H = Head<RANK + ROPE, ROPE, RANK, INTERLEAVED>;
    constexpr int WIDTH = RANK + ROPE;
    wait_for_previous();
    start_next();
    each_head<H>(rows, [&](long long row, bool valid) {
        H h;
        h.clear();
        if (valid) h.load(latent + row * WIDTH);
        h.weigh_rest(weight, 1.0f / sqrtf(h.squares_of_rest() / RANK + eps));
        h.rotate(cos + row * H::HALF, sin + row * H::HALF);
        const int sequence = step.sequence[row];
        if (!valid || sequence < 0) return;
        const int position = step.positions[row];
        const long long page = page_of(step, sequence, position);
        h.store(static_cast<Cache*>(cache) + (page * step.page_size + position % step.page_size) * WIDTH);
    });
}
