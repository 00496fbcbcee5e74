// Products of up to four rows of activations with stored quants: blocks stay, each warp holds its part of the activations in registers, and
// rows of weights pass by. Quants are exact in bf16, and their scales are multiplied in f32 afterwards, or before where that is exact too.
//
// Rows of weights are the rows of the tensor cores' tile. The chunks of four lanes have scales of their own, so that their sums stay apart:
// a column has activations of one of four chunks, and zeros for the others, and two rows of activations are a tile of columns. One row has a
// tile to itself: lanes have two chunks of one row of weights instead of one chunk of two. Of weights that have their scales already a column
// is a row of activations.
#pragma once
#include "planes.cuh"
#include "product_rows.cuh"
#include "step.cuh"
#include "warp.cuh"

template <class F, int ROWS> struct Quants {
    using P = Planes<F>;
    using Raw = typename P::Raw;
    static constexpr int WARPS = ROWS > 1 ? 16 : 8, HALVES = ROWS > 1 ? 1 : 2;
    static constexpr int OUTS = 16 / HALVES, SUMS = OUTS * ROWS;
    static constexpr bool EXACT = P::EXACT && ROWS > 1;
    static constexpr int COLUMNS = EXACT ? 1 : ceil_div(ROWS, 2);  // tiles of 8 columns
    static constexpr int SEGMENT = P::SEGMENT, PAIRS = P::CHUNK / 2;
    // Activations of a lane take 32 registers, and as many turns are one tile's; large chunks leave room for half of that.
    static constexpr int TURNS = std::is_same_v<F, q5_k> || (std::is_same_v<F, q6_k> && ROWS == 2) ? 1 : 32 / (PAIRS * COLUMNS);
    // Chunks that a warp has of a row in all its turns, and chunks that a block has.
    static constexpr int OF_WARP = TURNS * 4 * HALVES, SLICE = WARPS * OF_WARP;
    // Tiles that a block goes through with one slice of long rows before it takes the next slice.
    static constexpr int BATCH = 4;
    static_assert(ROWS <= 4, "more rows have weights rounded to bf16");

    struct Shared {
        float sums[2][WARPS][SUMS + 4];
        float longer[BATCH][SUMS];  // of rows with several slices
    };

    // Sums of all tiles of this block. `row_of(tile, o)` is the StoredRow of output o of a tile; `finish(tile, i, sum, on)` is called by
    // whole warps, and gets sum `i`, of output i % OUTS and row i / OUTS, where `on`. Waits for the previous kernel before it reads `x`.
    template <class RowOf, class Finish>
    __device__ static void run(RowOf row_of, int tiles, const bf16* x, int in, int rows, Shared& shared, Finish finish) {
        const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, group = lane / 4, quarter = lane % 4;
        const int chunks = in / P::CHUNK, slices = ceil_div(chunks, SLICE);
        // Warps that share a tile: short rows leave the others for further tiles.
        int along = WARPS;
        while (along > 1 && along / 2 * OF_WARP >= chunks) along /= 2;
        const int groups = WARPS / along, part = warp % along, first = blockIdx.x * groups + warp / along, stride = gridDim.x * groups;
        const int rounds = ceil_div(tiles - static_cast<int>(blockIdx.x) * groups, stride);  // the same for all warps

        // Where loads are: they run ahead of the products by one tile.
        int load_round = 0, load_slice = 0, load_batch = 0;
        auto chunk_of = [&](int slice, int turn, int half) { return slice * SLICE + 4 * (HALVES * (turn * along + part) + half) + quarter; };
        StoredRow weights[2];
        auto point = [&] {
            const int tile = min(first + load_round * stride, tiles - 1);
            weights[0] = row_of(tile, group);
            weights[1] = HALVES == 2 ? weights[0] : row_of(tile, group + 8);
        };
        Raw raw[TURNS][2];
        auto load = [&](int turn) {
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const int chunk = chunk_of(load_slice, turn, i % HALVES);
                raw[turn][i] = chunk < chunks ? P::load(weights[i].planes, in, chunk, weights[i].scales) : Raw{};
            }
        };
        // A batch of tiles goes through all slices before the next one begins.
        auto advance = [&] {
            if (++load_round == min(load_batch + BATCH, rounds)) {
                load_round = load_batch;
                if (++load_slice == slices) load_slice = 0, load_round = load_batch += BATCH;
            }
            if (load_round < rounds) point();
        };
        if (rounds <= 0) return;
        point();
#pragma unroll
        for (int turn = 0; turn < TURNS; turn++) load(turn);
        start_next();
        wait_for_previous();

        unsigned columns[TURNS][COLUMNS][PAIRS];
        auto hold = [&](int slice) {
#pragma unroll
            for (int turn = 0; turn < TURNS; turn++) {
                const int chunk = chunk_of(slice, turn, HALVES == 2 ? group / 4 : 0);
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) {
                    // Column `group` is of chunk group % 4: its lane has the activations. Or it is a row, of which each lane has its chunk.
                    const int row = EXACT ? group : HALVES == 2 ? 0 : 2 * c + group / 4;
                    const bool mine = (EXACT || quarter == group % 4) && row < rows && chunk < chunks;
#pragma unroll
                    for (int segment = 0; segment < P::SEGMENTS; segment++) {
                        unsigned pairs[SEGMENT / 2] = {};
                        if (mine) load_pairs<SEGMENT>(x + static_cast<long long>(row) * in + P::start(chunk, segment), pairs);
                        in_order(pairs, columns[turn][c] + segment * (SEGMENT / 2));
                    }
                }
            }
        };
        int phase = 0;
        for (int batch = 0; batch < rounds; batch += BATCH) {
            for (int slice = 0; slice < slices; slice++) {
                if (slices > 1 || batch == 0) hold(slice);
                for (int round = batch; round < min(batch + BATCH, rounds); round++, phase ^= 1) {
                    float sums[COLUMNS][4] = {};
                    advance();
                    const bool more = load_round < rounds;
#pragma unroll
                    for (int turn = 0; turn < TURNS; turn++) {
                        multiply(raw[turn], columns[turn], sums);
                        if (more) load(turn);
                    }
                    write(sums, shared.sums[phase][warp]);
                    if (along > 1) __syncthreads();
                    else __syncwarp();
                    const int tile = first + round * stride;
                    for (int base = part * WARP; base < SUMS; base += along * WARP) {
                        const int i = base + lane;
                        float sum = 0.0f;
                        for (int w = 0; w < along && i < SUMS; w++) sum += shared.sums[phase][warp - part + w][i];
                        if (slices > 1 && i < SUMS) {
                            if (slice > 0) sum += shared.longer[round - batch][i];
                            shared.longer[round - batch][i] = sum;
                        }
                        if (slice == slices - 1) finish(tile, i, sum, i < SUMS && tile < tiles);
                    }
                }
            }
        }
    }

    __device__ __forceinline__ static void multiply(const Raw (&raw)[2], const unsigned (&columns)[COLUMNS][PAIRS], float (&sums)[COLUMNS][4]) {
        if constexpr (EXACT) {
            unsigned first[P::SEGMENTS][SEGMENT / 2], second[P::SEGMENTS][SEGMENT / 2];
            P::weights(raw[0], first);
            P::weights(raw[1], second);
#pragma unroll
            for (int segment = 0; segment < P::SEGMENTS; segment++) {
#pragma unroll
                for (int i = 0; i < SEGMENT / 2; i += 2) {
                    const unsigned a[4] = {first[segment][i], second[segment][i], first[segment][i + 1], second[segment][i + 1]};
#pragma unroll
                    for (int c = 0; c < COLUMNS; c++) {
                        const unsigned* b = columns[c] + segment * (SEGMENT / 2) + i;
                        mma(sums[c], a, b[0], b[1]);
                    }
                }
            }
        } else {
            multiply_apart(raw, columns, sums);
        }
    }

    __device__ __forceinline__ static void multiply_apart(const Raw (&raw)[2], const unsigned (&columns)[COLUMNS][PAIRS], float (&sums)[COLUMNS][4]) {
        // Sums of columns 2 * quarter and the next have the scales of these lanes.
        const int from = threadIdx.x % WARP / 4 * 4 + 2 * threadIdx.x % 4;
#pragma unroll
        for (int segment = 0; segment < P::SEGMENTS; segment++) {
            unsigned first[SEGMENT / 2], second[SEGMENT / 2];
            P::pairs(raw[0], segment, first);
            P::pairs(raw[1], segment, second);
            float scales[4], offsets[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                scales[i] = __shfl_sync(0xffffffff, P::scale(raw[i / 2], segment), from + i % 2);
                if constexpr (P::OFFSET) offsets[i] = __shfl_sync(0xffffffff, P::offset(raw[i / 2], segment), from + i % 2);
            }
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                const unsigned* b = columns[c] + segment * (SEGMENT / 2);
                float part[4] = {}, total[4] = {};
#pragma unroll
                for (int i = 0; i < SEGMENT / 2; i += 2) {
                    const unsigned a[4] = {first[i], second[i], first[i + 1], second[i + 1]};
                    mma(part, a, b[i], b[i + 1]);
                    if constexpr (P::OFFSET) {
                        // The offset meets the sum of the activations: their product with ones.
                        constexpr unsigned ONES[4] = {0x3f803f80u, 0x3f803f80u, 0x3f803f80u, 0x3f803f80u};
                        mma(total, ONES, b[i], b[i + 1]);
                    }
                }
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    sums[c][i] = fmaf(scales[i], part[i], sums[c][i]);
                    if constexpr (P::OFFSET) sums[c][i] = fmaf(offsets[i], total[i], sums[c][i]);
                }
            }
        }
    }

    // Adds up the chunks of a warp where they are apart. Half the lanes have the columns of one row of activations, or of one half of the chunks.
    __device__ __forceinline__ static void write(const float (&sums)[COLUMNS][4], float* to) {
        const int lane = threadIdx.x % WARP, group = lane / 4, quarter = lane % 4;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            if constexpr (EXACT) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const int row = 2 * quarter + i % 2;
                    if (row < ROWS) to[row * OUTS + group + i / 2 * 8] = P::WEIGHTS * sums[c][i];
                }
            } else {
#pragma unroll
                for (int i = 0; i < 2 / HALVES; i++) {
                    const bool second = HALVES == 2 ? quarter >= 2 : i == 1;
                    float sum = second ? sums[c][2] + sums[c][3] : sums[c][0] + sums[c][1];
                    sum += __shfl_xor_sync(0xffffffff, sum, 1);
                    if constexpr (HALVES == 2) sum += __shfl_xor_sync(0xffffffff, sum, 2);
                    const int row = HALVES == 2 ? 0 : 2 * c + quarter / 2;
                    if (quarter % 2 == 0 && row < ROWS) to[row * OUTS + group + 8 * i] = sum;
                }
            }
        }
    }

    // Neighbours in the order in which `pairs` has them.
    __device__ __forceinline__ static void in_order(const unsigned (&neighbours)[SEGMENT / 2], unsigned* pairs) {
        constexpr int APART = P::APART;
#pragma unroll
        for (int i = 0; i < SEGMENT / 2; i++) {
            const int at = i / APART * APART + i % APART / 2;
            pairs[i] = __byte_perm(neighbours[at], neighbours[at + APART / 2], i % 2 ? 0x7632 : 0x5410);
        }
    }
};
