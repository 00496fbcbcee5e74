// Products of experts for many tokens: a block has a tile of one expert's pairs and 128 rows of its weights, which pass through shared
// memory as bf16 in steps of 64.
#pragma once
#include "experts.cuh"
#include "step.cuh"
#include "warp.cuh"
#include "weight_units.cuh"

constexpr int MANY_THREADS = 256, MANY_ROWS = 128, MANY_STEP = 64, MANY_STAGES = 3;
constexpr int MANY_STAGE_BYTES = (EXPERT_TILE + MANY_ROWS) * MANY_STEP * 2;
static_assert(EXPERT_TILE == 128 && MANY_ROWS == 128, "8 warps have 64 x 32 each");

// Blocks per multiprocessor that registers are shared by.
template <class F> constexpr int MANY_BLOCKS = Planes<F>::CHUNK == 4 ? 1 : 2;

// Steps that stored weights are asked for ahead, an even number: registers hold those of one step, too little for formats of few bytes.
constexpr int MANY_AHEAD = 8;

// 16 bytes of a tile [rows][64] of bf16. Chunks of 8 are swizzled, so that 8 rows of a column of chunks lie in different banks.
__device__ __forceinline__ unsigned char* tile_at(unsigned char* tile, int row, int chunk) {
    return tile + 128 * row + 16 * (chunk ^ (row & 7));
}

// The weights of a block: row n of its tile is a row of the expert's matrix. With gates, of each 32 rows 16 are of the gate and 16 the
// same of the up, so that a warp has both products of its elements. Rows from `out` on are computed as the last one, and dropped.
template <class F, bool GATED> struct ManyWeights {
    const unsigned char* stack;
    const float* scales;
    int expert, out, in;
    __device__ __forceinline__ WeightRow row(int n) const {
        const int matrix = GATED ? 2 * expert + n % 32 / 16 : expert;
        const int row = GATED ? blockIdx.x * 64 + n / 32 * 16 + n % 16 : blockIdx.x * 128 + n;
        return weight_row<F>(stack, scales, matrix, min(row, out - 1), out, in);
    }
};

// acc += activations times weights of one step, for a warp's 64 x 32. Of pairs from `count` on nothing is computed.
__device__ __forceinline__ void many_step(unsigned char* pairs, unsigned char* weights, int count, float (&acc)[4][4][4]) {
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, m = 64 * (warp / 4), n = 32 * (warp % 4);
#pragma unroll
    for (int k = 0; k < MANY_STEP / 16; k++) {
        unsigned b[2][4];
#pragma unroll
        for (int j = 0; j < 2; j++) load_matrices(b[j], tile_at(weights, n + 16 * j + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (m + 16 * i >= count) break;
            unsigned a[4];
            load_matrices(a, tile_at(pairs, m + 16 * i + lane % 16, 2 * k + lane / 16));
#pragma unroll
            for (int j = 0; j < 4; j++) mma(acc[i][j], a, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
}

// The products of a block. `source` holds for each of its pairs a row of `x`, -1 from `count` on.
template <class F, bool WHOLE, bool GATED>
__device__ __forceinline__ void many_products(const bf16* x, const int* source, const ManyWeights<F, GATED>& weights, int count,
                                              unsigned char* shared, float (&acc)[4][4][4]) {
    // Rows of whole bf16 go to shared memory as they are; others are decoded on their way.
    constexpr bool DIRECT = WHOLE && std::is_same_v<F, bf16>;
    const int in = weights.in, steps = ceil_div(in, MANY_STEP), thread = threadIdx.x;
    const auto pairs_of = [&](int step) { return shared + step % MANY_STAGES * MANY_STAGE_BYTES; };
    const auto weights_of = [&](int step) { return pairs_of(step) + EXPERT_TILE * MANY_STEP * 2; };
    // Chunk c (of 8) of a step is run c % 4 of one of the two units that a step has of a piece.
    const auto start_of = [&](int step, int c) { return run_start<F>(step / 2, step % 2 * 2 + c / 4, c % 4); };
    const auto copy_step = [&](int step) {
        if (step < steps) {
            const int c = thread % 8, k = start_of(step, c);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int row = thread / 8 + 32 * i, from = source[row];
                unsigned char* to = tile_at(pairs_of(step), row, c);
                const bf16* line = x + static_cast<long long>(max(from, 0)) * in;
                if constexpr (WHOLE) {
                    const bool valid = from >= 0 && k < in;
                    copy_16(to, valid ? line + k : x, valid);
                } else {
                    *reinterpret_cast<uint4*>(to) = from < 0 ? make_uint4(0, 0, 0, 0) : load_run<false>(line, k, in);
                }
                if constexpr (DIRECT) {
                    const unsigned char* stored = weights.row(row).planes;
                    copy_16(tile_at(weights_of(step), row, c), k < in ? stored + 2 * k : stored, k < in);
                }
            }
        }
        commit_copies();
    };
    const WeightRow own = weights.row(thread / 2);
    WeightUnit<F> stored;
    const auto load_weights = [&](int step) {
        const int unit = step % 2 * 2 + thread % 2;
        load_unit<F>(stored, own, in, step / 2, unit);
        prefetch_unit<F>(own, in, (step + MANY_AHEAD) / 2, unit);
    };
    const auto store_weights = [&](int step) {
        unsigned pairs[16];
        decode_unit<F, WHOLE>(stored, in, step / 2, step % 2 * 2 + thread % 2, pairs);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            *reinterpret_cast<uint4*>(tile_at(weights_of(step), thread / 2, thread % 2 * 4 + j)) =
                make_uint4(pairs[4 * j], pairs[4 * j + 1], pairs[4 * j + 2], pairs[4 * j + 3]);
        }
    };
    copy_step(0);
    copy_step(1);
    if constexpr (!DIRECT) {
        prefetch_scales<F>(own, in, thread % 2, 2);
        for (int step = 1; step < MANY_AHEAD; step++) prefetch_unit<F>(own, in, step / 2, step % 2 * 2 + thread % 2);
        load_weights(0);
        store_weights(0);
        load_weights(1);
    }
    for (int step = 0; step < steps; step++) {
        // After the barrier this step lies in shared memory, and the stage of the step before it is free.
        wait_copies<1>();
        __syncthreads();
        copy_step(step + 2);
        if constexpr (!DIRECT) {
            if (step + 1 < steps) {
                store_weights(step + 1);
                load_weights(step + 2);
            }
        }
        many_step(pairs_of(step), weights_of(step), count, acc);
    }
    wait_copies<0>();
}

// A block per 128 rows of weights (x; 64 of each with gates) and tile of pairs (y). `finish` takes an expert, a place in the order of the
// experts, an even column, and the products of gate and up for it and the next. Rows of `x` are tokens, or places with BY_PLACE.
template <class F, bool GATED, bool BY_PLACE, class Finish>
__device__ __forceinline__ void many_experts(const bf16* x, const unsigned char* stack, const float* scales, const int* order,
                                             const int* offsets, const int* tiles, int out, int in, int top_k, const Finish& finish) {
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ int source[EXPERT_TILE];
    // The grid is that of experts with gates, which have half the rows per block.
    if (static_cast<int>(blockIdx.x) * (GATED ? 64 : 128) >= out) return;
    wait_for_previous();
    start_next();
    const int expert = tiles[2 * blockIdx.y], first = tiles[2 * blockIdx.y + 1];
    if (expert < 0) return;
    const int count = min(offsets[expert + 1] - first, EXPERT_TILE);
    TENON_ASSERT(threads_of_block() == MANY_THREADS && dynamic_shared_bytes() >= MANY_STAGES * MANY_STAGE_BYTES && count > 0 && first >= offsets[expert]);
    for (int i = threadIdx.x; i < EXPERT_TILE; i += MANY_THREADS)
        source[i] = i >= count ? -1 : BY_PLACE ? first + i : order[first + i] / top_k;
    __syncthreads();
    const ManyWeights<F, GATED> weights = {stack, scales, expert, out, in};
    float acc[4][4][4] = {};
    if (Planes<F>::BLOCK > 1 || in % 8 == 0) many_products<F, true>(x, source, weights, count, shared, acc);
    else many_products<F, Planes<F>::BLOCK != 1>(x, source, weights, count, shared, acc);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int m = 64 * (warp / 4) + 16 * i + 8 * half + lane / 4;
            if (m >= count) continue;
#pragma unroll
            for (int j = 0; j < (GATED ? 2 : 4); j++) {
                const int column = blockIdx.x * (GATED ? 64 : 128) + warp % 4 * (GATED ? 16 : 32) + 8 * j + lane % 4 * 2;
                const float* product = acc[i][j] + 2 * half;
                const float* up = GATED ? acc[i][j + 2] + 2 * half : product;
                if (column < out) finish(expert, first + m, column, make_float2(product[0], product[1]), make_float2(up[0], up[1]));
            }
        }
    }
}

// Two neighbours of a row of `len` bf16, of which the second may be over the end.
__device__ __forceinline__ void store_two(bf16* row, int column, int len, float a, float b) {
    if (len % 2 == 0) {
        *reinterpret_cast<unsigned*>(row + column) = pack_bf16(a, b);
        return;
    }
    row[column] = from_float<bf16>(a);
    if (column + 1 < len) row[column + 1] = from_float<bf16>(b);
}
