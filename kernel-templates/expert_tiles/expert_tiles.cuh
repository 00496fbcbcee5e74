// Sorts the pairs of tokens and experts by expert, in one block, and cuts each expert's pairs into tiles. Pairs of an expert stay in
// their order: every warp has a stretch of them, and knows how many the warps before it have of each expert.
#pragma once
#include "experts.cuh"
#include "step.cuh"
#include "types.cuh"
#include "warp.cuh"

constexpr int SORT_WARPS = 32;

// What stands before each of `len` numbers, added up; returns the sum of all. Called by a whole warp.
template <class Number> __device__ __forceinline__ int sums_before(int len, const Number& number, int* before) {
    const int lane = threadIdx.x % WARP;
    int all = 0;
    for (int start = 0; start < len; start += WARP) {
        const int own = start + lane < len ? number(start + lane) : 0;
        int sum = own;
#pragma unroll
        for (int other = 1; other < WARP; other *= 2) {
            const int left = __shfl_up_sync(0xffffffff, sum, other);
            if (lane >= other) sum += left;
        }
        if (start + lane < len) before[start + lane] = all + sum - own;
        all += __shfl_sync(0xffffffff, sum, WARP - 1);
    }
    return all;
}

template <int EXPERTS>
__device__ __forceinline__ void expert_tiles(const int* ids, int* order, int* offsets, int* tiles, int top_k, int rows) {
    extern __shared__ int count[];  // [SORT_WARPS][EXPERTS]: pairs of a warp's stretch, then the place of its next one
    __shared__ int total[EXPERTS], first_place[EXPERTS], first_tile[EXPERTS], tile_count;
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, threads = SORT_WARPS * WARP;
    TENON_ASSERT(threads_of_block() == SORT_WARPS * WARP && dynamic_shared_bytes() >= SORT_WARPS * EXPERTS * sizeof(int) && top_k > 0);
    const int pairs = rows * top_k, stretch = round_up(ceil_div(pairs, SORT_WARPS), WARP);
    const int begin = min(warp * stretch, pairs), end = min(begin + stretch, pairs);
    int* own = count + warp * EXPERTS;
    for (int i = threadIdx.x; i < SORT_WARPS * EXPERTS; i += threads) count[i] = 0;
    wait_for_previous();
    start_next();
    __syncthreads();
#pragma unroll 4
    for (int p = begin + lane; p < end; p += WARP) {
        const unsigned expert = ids[p];
        if (expert < EXPERTS) atomicAdd(own + expert, 1);
    }
    __syncthreads();
    for (int e = threadIdx.x; e < EXPERTS; e += threads) {
        int sum = 0;
        for (int w = 0; w < SORT_WARPS; w++) {
            const int of_warp = count[w * EXPERTS + e];
            count[w * EXPERTS + e] = sum;
            sum += of_warp;
        }
        total[e] = sum;
    }
    __syncthreads();
    if (warp == 0) {
        const int all = sums_before(EXPERTS, [&](int e) { return total[e]; }, first_place);
        if (lane == 0) offsets[EXPERTS] = all;
    } else if (warp == 1) {
        const int all = sums_before(EXPERTS, [&](int e) { return ceil_div(total[e], EXPERT_TILE); }, first_tile);
        if (lane == 0) tile_count = all;
    }
    __syncthreads();
    for (int e = threadIdx.x; e < EXPERTS; e += threads) {
        offsets[e] = first_place[e];
        for (int i = 0; i * EXPERT_TILE < total[e]; i++) {
            tiles[2 * (first_tile[e] + i)] = e;
            tiles[2 * (first_tile[e] + i) + 1] = first_place[e] + i * EXPERT_TILE;
        }
    }
    // The launch of the products has this many tiles; what is over the real ones is marked.
    const int most = min(pairs, ceil_div(pairs, EXPERT_TILE) + EXPERTS);
    for (int i = tile_count + static_cast<int>(threadIdx.x); i < most; i += threads) tiles[2 * i] = -1, tiles[2 * i + 1] = 0;
    for (int i = lane; i < EXPERTS; i += WARP) own[i] += first_place[i];
    __syncwarp();
    int next = begin + lane < end ? ids[begin + lane] : -1;
    for (int start = begin; start < end; start += WARP) {
        const int expert = next, ahead = start + WARP + lane;
        next = ahead < end ? ids[ahead] : -1;
        const unsigned same = __match_any_sync(0xffffffff, expert);
        const int rank = __popc(same & ((1u << lane) - 1));
        const bool valid = static_cast<unsigned>(expert) < EXPERTS;
        const int place = valid ? own[expert] + rank : 0;
        __syncwarp();
        TENON_ASSERT(place >= 0 && place < pairs);
        if (valid) {
            order[place] = start + lane;
            if (rank == 0) own[expert] += __popc(same);
        }
        __syncwarp();
    }
}
