// Products of a few rows of activations with stored weights: every weight is read once, and its block sums 8 or 16 outputs along `in`.
#pragma once
#include "planes.cuh"
#include "product_rows.cuh"
#include "quants.cuh"
#include "step.cuh"
#include "warp.cuh"

// The low parts of weights: what bf16 takes from them when it rounds to `high`, as pairs.
template <int N> __device__ __forceinline__ void low_pairs(const float (&w)[N], const unsigned (&high)[N / 2], unsigned (&low)[N / 2]) {
#pragma unroll
    for (int i = 0; i < N / 2; i++)
        low[i] = pack_bf16(w[2 * i] - __uint_as_float(high[i] << 16), w[2 * i + 1] - __uint_as_float(high[i] & 0xffff0000u));
}

// The product of up to ROWS rows with OUTS rows of weights, by a block of 256 threads for one row and of 512 for more. One row of weights
// that are floats is multiplied in f32. All else goes through tensor cores: f32 and f16 as the sum of two bf16, and weights with scales
// rounded to bf16, as `dequantise` does for still more rows.
template <class F, int ROWS> struct Product {
    using P = Planes<F>;
    using Raw = typename P::Raw;
    static constexpr bool TENSOR_CORES = ROWS > 1;
    static constexpr bool TWO_PARTS = std::is_same_v<F, f32> || std::is_same_v<F, f16>;
    // All warps share the same outputs, each with a part of `in`. A matrix of 4096 outputs is then two blocks on every multiprocessor.
    static constexpr int WARPS = ROWS > 1 ? 16 : 8;
    static constexpr int OUTS = ROWS > 1 ? 16 : 8;
    static constexpr int COLUMNS = ceil_div(ROWS, 8);  // tiles of 8 rows of activations
    static constexpr int SEGMENT = P::SEGMENT;
    static constexpr int PAIRS = P::CHUNK / 2;
    // Chunks in flight per lane and output.
    static constexpr int STAGES = std::is_same_v<F, q5_k> && ROWS > 8 ? 1 : 2;
    // Activations are asked for as far ahead: they come from the second-level cache, and a turn would wait for them.
    static constexpr int AHEAD = P::CHUNK <= 8 ? STAGES : 1;
    static_assert(ROWS <= 16, "two tiles of the tensor cores have 16 rows");

    // A row of sums is 4 longer than it must be: what four lanes write then lies in different banks.
    static constexpr int PITCH = OUTS + 4;
    using Shared = float[WARPS][PITCH * ROWS];

    // Sum `i`, of output i % OUTS and row i / OUTS, for threads i < OUTS * ROWS; other threads get 0. `row_of(o)` is the StoredRow of output
    // o of the block. Waits for the previous kernel before it reads `x`.
    template <class RowOf> __device__ static float sum(RowOf row_of, const bf16* x, int in, int rows, Shared& shared) {
        if (in % P::CHUNK != 0) {
            by_element(row_of, x, in, rows, shared);
        } else if constexpr (TENSOR_CORES) {
            by_tiles(row_of, x, in, rows, shared);
        } else {
            by_lanes(row_of, x, in, rows, shared);
        }
        __syncthreads();
        float sum = 0.0f;
        if (threadIdx.x < OUTS * ROWS) {
#pragma unroll
            for (int part = 0; part < WARPS; part++) sum += shared[part][threadIdx.x / OUTS * PITCH + threadIdx.x % OUTS];
        }
        return sum;
    }

    // Lanes take chunks in turn, each for all outputs of its warp.
    template <class RowOf> __device__ static void by_lanes(RowOf row_of, const bf16* x, int in, int rows, Shared& shared) {
        const int along = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        const int chunks = in / P::CHUNK, step = WARPS * WARP, start = along * WARP + lane;
        Raw raw[STAGES][OUTS];
        auto load = [&](Raw(&raw)[OUTS], int chunk) {
            if (chunk >= chunks) return;
#pragma unroll
            for (int o = 0; o < OUTS; o++) {
                StoredRow row = row_of(o);
                raw[o] = P::load(row.planes, in, chunk, row.scales);
            }
        };
#pragma unroll
        for (int s = 0; s < STAGES; s++) load(raw[s], start + s * step);
        start_next();
        wait_for_previous();

        float sums[OUTS][ROWS] = {};
        auto multiply = [&](const Raw(&raw)[OUTS], int chunk) {
#pragma unroll
            for (int segment = 0; segment < P::SEGMENTS; segment++) {
                float xs[ROWS][SEGMENT];
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    unsigned pairs[SEGMENT / 2];
                    load_pairs<SEGMENT>(x + static_cast<long long>(min(r, rows - 1)) * in + P::start(chunk, segment), pairs);
#pragma unroll
                    for (int i = 0; i < SEGMENT / 2; i++) {
                        xs[r][2 * i] = __uint_as_float(pairs[i] << 16), xs[r][2 * i + 1] = __uint_as_float(pairs[i] & 0xffff0000u);
                    }
                }
#pragma unroll
                for (int o = 0; o < OUTS; o++) {
                    float w[SEGMENT];
                    P::decode(raw[o], segment, w);
#pragma unroll
                    for (int r = 0; r < ROWS; r++) {
#pragma unroll
                        for (int i = 0; i < SEGMENT; i++) sums[o][r] = fmaf(w[i], xs[r][i], sums[o][r]);
                    }
                }
            }
        };
        for (int chunk = start; chunk < chunks; chunk += STAGES * step) {
#pragma unroll
            for (int s = 0; s < STAGES; s++) {
                if (chunk + s * step < chunks) multiply(raw[s], chunk + s * step);
                load(raw[s], chunk + (s + STAGES) * step);
            }
        }
#pragma unroll
        for (int o = 0; o < OUTS; o++)
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                float sum = warp_sum(sums[o][r]);
                if (lane == 0) shared[along][r * PITCH + o] = sum;
            }
    }

    // Rows of weights are the rows of the tensor cores' tile, those of activations its columns. Both may take the elements of `in` in any
    // order, if it is the same one: lane l has chunk l % 4 of four, of rows l / 4 and l / 4 + 8 of the weights and of row l / 4 of each
    // eight of the activations, and each product takes four of its elements.
    template <class RowOf> __device__ static void by_tiles(RowOf row_of, const bf16* x, int in, int rows, Shared& shared) {
        const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, group = lane / 4, quarter = lane % 4;
        const int chunks = in / P::CHUNK, turns = (ceil_div(chunks, 4) - warp + WARPS - 1) / WARPS;
        const StoredRow weights[2] = {row_of(group), row_of(group + 8)};
        auto chunk_of = [&](int turn) { return 4 * (turn * WARPS + warp) + quarter; };
        Raw raw[STAGES][2];
        auto load = [&](Raw(&raw)[2], int turn) {
            const int chunk = chunk_of(turn);
#pragma unroll
            for (int half = 0; half < 2; half++)
                raw[half] = chunk < chunks ? P::load(weights[half].planes, in, chunk, weights[half].scales) : Raw{};
        };
#pragma unroll
        for (int s = 0; s < STAGES; s++) load(raw[s], s);
        start_next();
        wait_for_previous();

        unsigned columns[AHEAD][COLUMNS][PAIRS];
        auto load_columns = [&](unsigned(&columns)[COLUMNS][PAIRS], int turn) {
            const int chunk = chunk_of(turn);
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                const bf16* row = x + static_cast<long long>(min(8 * c + group, rows - 1)) * in;
#pragma unroll
                for (int segment = 0; segment < P::SEGMENTS; segment++) {
                    unsigned pairs[SEGMENT / 2] = {};
                    if (chunk < chunks) load_pairs<SEGMENT>(row + P::start(chunk, segment), pairs);
#pragma unroll
                    for (int i = 0; i < SEGMENT / 2; i++) columns[c][segment * (SEGMENT / 2) + i] = pairs[i];
                }
            }
        };
#pragma unroll
        for (int s = 0; s < AHEAD; s++) load_columns(columns[s], s);

        float sums[COLUMNS][4] = {};
        auto multiply = [&](const Raw(&raw)[2], const unsigned(&columns)[COLUMNS][PAIRS]) {
#pragma unroll
            for (int segment = 0; segment < P::SEGMENTS; segment++) {
                unsigned first[SEGMENT / 2], second[SEGMENT / 2];
                segment_pairs<F>(raw[0], segment, first);
                segment_pairs<F>(raw[1], segment, second);
                auto add = [&] {
#pragma unroll
                    for (int i = 0; i < SEGMENT / 2; i += 2) {
                        const unsigned a[4] = {first[i], second[i], first[i + 1], second[i + 1]};
#pragma unroll
                        for (int c = 0; c < COLUMNS; c++) {
                            const unsigned* b = columns[c] + segment * (SEGMENT / 2) + i;
                            mma(sums[c], a, b[0], b[1]);
                        }
                    }
                };
                add();
                if constexpr (TWO_PARTS) {
                    float exact[SEGMENT];
                    P::decode(raw[0], segment, exact);
                    low_pairs<SEGMENT>(exact, first, first);
                    P::decode(raw[1], segment, exact);
                    low_pairs<SEGMENT>(exact, second, second);
                    add();
                }
            }
        };
        for (int turn = 0; turn < turns; turn += STAGES) {
#pragma unroll
            for (int s = 0; s < STAGES; s++) {
                if (turn + s < turns) multiply(raw[s], columns[s % AHEAD]);
                load(raw[s], turn + s + STAGES);
                load_columns(columns[s % AHEAD], turn + s + AHEAD);
            }
        }
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int row = 8 * c + 2 * quarter + i % 2, o = group + i / 2 * 8;
                if (row < ROWS) shared[warp][row * PITCH + o] = sums[c][i];
            }
    }

    // Rows that are no whole number of chunks: any alignment, one element at a time.
    template <class RowOf> __device__ static void by_element(RowOf row_of, const bf16* x, int in, int rows, Shared& shared) {
        const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        start_next();
        wait_for_previous();
        for (int i = threadIdx.x; i < WARPS * PITCH * ROWS; i += WARPS * WARP) shared[i / (PITCH * ROWS)][i % (PITCH * ROWS)] = 0.0f;
        __syncthreads();
        for (int o = warp; o < OUTS; o += WARPS) {
            StoredRow row = row_of(o);
            float sums[ROWS] = {};
            for (int k = lane; k < in; k += WARP) {
                float w = P::element(row.planes, in, k, row.scales);
#pragma unroll
                for (int r = 0; r < ROWS; r++) sums[r] = fmaf(w, to_float(x[static_cast<long long>(min(r, rows - 1)) * in + k]), sums[r]);
            }
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                float sum = warp_sum(sums[r]);
                if (lane == 0) shared[0][r * PITCH + o] = sum;
            }
        }
    }
};

// Products of a few rows by the blocks of a launch. Floats have a block per tile of OUTS outputs. Of weights with scales a tile is little to
// read: the launch has as many blocks as the device holds, and each goes through several tiles.
template <class F, int ROWS> struct FewRows {
    static constexpr bool SCALED = Planes<F>::SCALED, QUANTS = SCALED && ROWS <= 4;
    static constexpr int WARPS = Product<F, ROWS>::WARPS, OUTS = Product<F, ROWS>::OUTS;
    // Blocks that a multiprocessor holds, so that enough loads are in flight.
    static constexpr int BLOCKS = ROWS > 1 && (SCALED || (std::is_same_v<F, f32> && ROWS > 8)) ? 1 : 2;

    // The sums of this block. `row_of(tile, o)` is the StoredRow of output o of a tile; `finish(tile, i, sum, on)` is called by whole
    // warps, and gets the sum of output i % OUTS and row i / OUTS where `on`.
    template <class RowOf, class Finish>
    __device__ static void run(RowOf row_of, int tiles, const bf16* x, int in, int rows, Finish finish) {
        using Shared = typename Product<F, ROWS>::Shared;
        if constexpr (QUANTS) {
            using Q = Quants<F, ROWS>;
            static_assert(Q::WARPS == WARPS && Q::OUTS == OUTS, "one launch serves rows of any length");
            __shared__ __align__(16) unsigned char room[sizeof(Shared) > sizeof(typename Q::Shared) ? sizeof(Shared) : sizeof(typename Q::Shared)];
            if (in % Planes<F>::CHUNK == 0) {
                Q::run(row_of, tiles, x, in, rows, *reinterpret_cast<typename Q::Shared*>(room), finish);
            } else {
                each_tile(row_of, tiles, x, in, rows, *reinterpret_cast<Shared*>(room), finish);
            }
        } else {
            __shared__ Shared shared;
            each_tile(row_of, tiles, x, in, rows, shared, finish);
        }
    }

    template <class RowOf, class Finish>
    __device__ static void each_tile(RowOf row_of, int tiles, const bf16* x, int in, int rows, typename Product<F, ROWS>::Shared& shared,
                                     Finish finish) {
        int tile = blockIdx.x;
        do {
            const float sum = Product<F, ROWS>::sum([&](int o) { return row_of(tile, o); }, x, in, rows, shared);
            if (threadIdx.x < round_up(OUTS * ROWS, WARP)) finish(tile, threadIdx.x, sum, threadIdx.x < OUTS * ROWS);
            tile += gridDim.x;
            if constexpr (SCALED) __syncthreads();
        } while (SCALED && tile < tiles);
    }
};
