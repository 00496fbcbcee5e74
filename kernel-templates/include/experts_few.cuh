// Products of experts for a few tokens: a block has 16 rows of one expert's weights and all tokens that go to it, so that weights are
// read once. The weights are the rows of tensor-core tiles, the tokens their columns.
#pragma once
#include "experts.cuh"
#include "step.cuh"
#include "warp.cuh"
#include "weight_units.cuh"

constexpr int FEW_WARPS = 4;

// Blocks per multiprocessor that registers are shared by, and pieces of a row that a lane has under way: formats of few bytes need
// more of them to keep the memory busy, and what is more than this spills.
template <class F> constexpr int FEW_BLOCKS = Planes<F>::CHUNK <= 8 || Planes<F>::BLOCK == 256 ? 3 : 4;
template <class F, bool WHOLE>
constexpr int FEW_DEPTH = Planes<F>::CHUNK == 4 || !WHOLE                       ? 1
                          : Planes<F>::CHUNK < 32 || std::is_same_v<F, q5_k>    ? 2
                          : Planes<F>::BLOCK == 256                             ? 3
                          : sizeof(typename Planes<F>::Raw) > 20                ? 2
                                                                                : 4;

// acc += the lane's rows times its columns, over this warp's pieces. Lane l has rows l / 4 (`first`) and l / 4 + 8 (`second`) of the
// weights, column l / 4 of each tile of 8 tokens (null: no token there, zeros), and unit l % 4 of each piece.
template <class F, int TILES, bool WHOLE>
__device__ __forceinline__ void few_products(const WeightRow& first, const WeightRow& second, const bf16* const (&x)[TILES], int in,
                                             float (&acc)[TILES][4]) {
    constexpr int DEPTH = FEW_DEPTH<F, WHOLE>;
    const int warp = threadIdx.x / WARP, unit = threadIdx.x % 4, pieces = ceil_div(in, 128);
    WeightUnit<F> a[DEPTH], b[DEPTH];
#pragma unroll
    for (int d = 0; d < DEPTH; d++) {
        load_unit<F>(a[d], first, in, warp + d * FEW_WARPS, unit);
        load_unit<F>(b[d], second, in, warp + d * FEW_WARPS, unit);
    }
    for (int start = warp; start < pieces; start += DEPTH * FEW_WARPS) {
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            const int piece = start + d * FEW_WARPS;
            if (piece >= pieces) break;
            uint4 runs[TILES][4];
#pragma unroll
            for (int t = 0; t < TILES; t++) {
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    runs[t][j] = make_uint4(0, 0, 0, 0);
                    if (x[t]) runs[t][j] = load_run<WHOLE>(x[t], run_start<F>(piece, unit, j), in);
                }
            }
            unsigned of_first[16], of_second[16];
            decode_unit<F, WHOLE>(a[d], in, piece, unit, of_first);
            decode_unit<F, WHOLE>(b[d], in, piece, unit, of_second);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                // The sum may take its terms in any order: a lane's 4 neighbours stand for 2 of each half of a tile's 16 terms.
                const unsigned low[4] = {of_first[4 * j], of_second[4 * j], of_first[4 * j + 1], of_second[4 * j + 1]};
                const unsigned high[4] = {of_first[4 * j + 2], of_second[4 * j + 2], of_first[4 * j + 3], of_second[4 * j + 3]};
#pragma unroll
                for (int t = 0; t < TILES; t++) {
                    mma(acc[t], low, runs[t][j].x, runs[t][j].y);
                    mma(acc[t], high, runs[t][j].z, runs[t][j].w);
                }
            }
            load_unit<F>(a[d], first, in, piece + DEPTH * FEW_WARPS, unit);
            load_unit<F>(b[d], second, in, piece + DEPTH * FEW_WARPS, unit);
        }
    }
}

// One tile of rows of one expert, for the tokens of `TILES` tiles from token 8 * `tile` on.
template <class F, int TILES, bool GATED, bool BY_PAIR, class Finish>
__device__ __forceinline__ void few_tile(const bf16* x, const unsigned char* stack, const float* scales, const int* pair_of, int tile,
                                         int expert, int out, int in, const Finish& finish) {
    __shared__ float partial[FEW_WARPS][TILES][4][WARP];
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    // With gates: 8 rows of the gate and the same 8 of the up. Rows from `out` on are computed as the last one, and dropped.
    const int row = blockIdx.x * (GATED ? 8 : 16) + lane / 4;
    const WeightRow first = weight_row<F>(stack, scales, GATED ? 2 * expert : expert, min(row, out - 1), out, in);
    const WeightRow second = GATED ? weight_row<F>(stack, scales, 2 * expert + 1, min(row, out - 1), out, in)
                                   : weight_row<F>(stack, scales, expert, min(row + 8, out - 1), out, in);
    const bf16* columns[TILES];
#pragma unroll
    for (int t = 0; t < TILES; t++) {
        const int token = 8 * (tile + t) + lane / 4, pair = pair_of[token];
        columns[t] = pair < 0 ? nullptr : x + static_cast<long long>(BY_PAIR ? pair : token) * in;
    }
    float acc[TILES][4] = {};
    if (Planes<F>::BLOCK > 1 || in % 8 == 0) {
        few_products<F, TILES, true>(first, second, columns, in, acc);
    } else {
        few_products<F, TILES, Planes<F>::BLOCK != 1>(first, second, columns, in, acc);
    }
#pragma unroll
    for (int t = 0; t < TILES; t++) {
#pragma unroll
        for (int i = 0; i < 4; i++) partial[warp][t][i][lane] = acc[t][i];
    }
    __syncthreads();
    if (warp >= TILES) return;
    float sum[4] = {};
#pragma unroll
    for (int w = 0; w < FEW_WARPS; w++) {
#pragma unroll
        for (int i = 0; i < 4; i++) sum[i] += partial[w][warp][i][lane];
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int pair = pair_of[8 * (tile + warp) + 2 * (lane % 4) + i];
        if (pair < 0) continue;
        if constexpr (GATED) {
            if (row < out) finish(expert, row, pair, sum[i], sum[2 + i]);
        } else {
            if (row < out) finish(expert, row, pair, 0.0f, sum[i]);
            if (row + 8 < out) finish(expert, row + 8, pair, 0.0f, sum[2 + i]);
        }
    }
}

// A block per tile of rows (x) and pair (y). Of the pairs of an expert the first one's block computes all, the others leave.
// `finish` takes an expert, a row, a pair, and the products of gate and up. Rows of `x` are tokens, or pairs with BY_PAIR.
template <class F, bool GATED, bool BY_PAIR, class Finish>
__device__ __forceinline__ void few_experts(const bf16* x, const unsigned char* stack, const float* scales, const int* ids, int out,
                                            int in, int experts, int top_k, int rows, const Finish& finish) {
    __shared__ int pair_of[FEW_ROWS];
    // The grid is that of experts with gates, which have half the rows per block.
    if (static_cast<int>(blockIdx.x) * (GATED ? 8 : 16) >= out) return;
    wait_for_previous();
    start_next();
    const int pair = blockIdx.y, expert = ids[pair];
    if (static_cast<unsigned>(expert) >= static_cast<unsigned>(experts)) return;
    TENON_ASSERT(threads_of_block() == FEW_WARPS * WARP && pair < rows * top_k && rows <= FEW_ROWS);
    if (threadIdx.x < FEW_ROWS) pair_of[threadIdx.x] = -1;
    __syncthreads();
    // A token has an expert once at most.
    for (int p = threadIdx.x; p < min(rows, FEW_ROWS) * top_k; p += blockDim.x) {
        if (ids[p] == expert) pair_of[p / top_k] = p;
    }
    __syncthreads();
    const int lane = threadIdx.x % WARP;
    const unsigned tokens = __ballot_sync(0xffffffff, lane < FEW_ROWS && pair_of[lane % FEW_ROWS] >= 0);
    TENON_ASSERT(tokens != 0);
    if (pair_of[__ffs(tokens) - 1] != pair) return;
    const bool low = tokens & 0xff, high = tokens >> 8;
    if (low && high) few_tile<F, 2, GATED, BY_PAIR>(x, stack, scales, pair_of, 0, expert, out, in, finish);
    else few_tile<F, 1, GATED, BY_PAIR>(x, stack, scales, pair_of, low ? 0 : 1, expert, out, in, finish);
}
