// What latent attention gathered becomes the output of each head: V o per head.
#pragma once
#include "head_product.cuh"

template <int RANK, int V, class Phase>
__device__ __forceinline__ void mla_up(const Step& step, const bf16* o_latent, const bf16* w_v, bf16* attn, int heads, int rows) {
    const int head = blockIdx.y;
    const long long o_stride = static_cast<long long>(heads) * RANK, out_stride = static_cast<long long>(heads) * V;
    head_product<RANK, V, false, Phase>(step, o_latent + head * RANK, o_stride,
                                   w_v + static_cast<long long>(head) * V * RANK, attn + head * V, out_stride,
                                   blockIdx.x * PRODUCT_COLUMNS, blockIdx.z * PRODUCT_ROWS, rows, [](const int*) {});
}
