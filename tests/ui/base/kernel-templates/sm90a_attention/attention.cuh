// One part of the context, for the queries of one key-value head of one sequence.
#pragma once
#include "warp.cuh"

template <int HEAD_DIM, int GROUP, int TILE_KV, int STAGES, class Cache>
__device__ void attention(const AttentionArgs& args) {
    extern __shared__ unsigned char shared[];
    float scores[GROUP * TILE_KV / WARP];
    float acc[GROUP][HEAD_DIM / WARP], largest[GROUP], sum[GROUP];
    Cache* tile = reinterpret_cast<Cache*>(shared);
    for (int i = 0; i < GROUP; i++) {
        sum[i] = acc[i][0] = 0.0f;
        largest[i] = -INFINITY;
    }
    stream<STAGES, TILE_KV>(args, tile, [&](const Cache* keys, const Cache* values) {
        online_softmax<HEAD_DIM>(args, keys, values, scores, acc, largest, sum);
    });
    store(args, acc, sum);
}
