// Queries of latent attention move into the space of latents: K^T q per head, with the rotated part as it is.
#pragma once
#include "head_product.cuh"

template <int NOPE, int ROPE, int RANK, class Phase>
__device__ __forceinline__ void mla_absorb(const Step& step, const bf16* q, const bf16* w_k, bf16* q_latent, int heads, int rows) {
    static_assert(ROPE % 8 == 0, "the rotated part is copied 8 elements at a time");
    const int head = blockIdx.y, first_row = blockIdx.z * PRODUCT_ROWS;
    const long long q_stride = static_cast<long long>(heads) * (NOPE + ROPE), out_stride = static_cast<long long>(heads) * (RANK + ROPE);
    const bf16* from = q + head * (NOPE + ROPE);
    bf16* to = q_latent + head * (RANK + ROPE);
    auto copy_rotated = [&](const int* served) {
        if (blockIdx.x != 0) return;
        for (int i = threadIdx.x; i < PRODUCT_ROWS * (ROPE / 8); i += PRODUCT_THREADS) {
            const int row = i / (ROPE / 8), column = i % (ROPE / 8) * 8;
            if (!served[row]) continue;
            *reinterpret_cast<uint4*>(to + (first_row + row) * out_stride + RANK + column) =
                *reinterpret_cast<const uint4*>(from + (first_row + row) * q_stride + NOPE + column);
        }
    };
    head_product<NOPE, RANK, true, Phase>(step, from, q_stride,
                                           w_k + static_cast<long long>(head) * NOPE * RANK, to, out_stride, blockIdx.x * PRODUCT_COLUMNS, first_row, rows, copy_rotated);
}
