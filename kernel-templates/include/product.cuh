// Products of a few rows of activations with stored weights: every weight is read once, and its block sums 8 or 16 outputs along `in`.
#pragma once
#include "planes.cuh"
#include "step.cuh"
#include "warp.cuh"

// A row of a stored matrix, with its row of fp8's table of scales.
struct StoredRow {
    const unsigned char* planes;
    const float* scales;
};
template <class F> __device__ __forceinline__ StoredRow stored_row(const unsigned char* planes, const float* scales, int out, int in) {
    return {planes + static_cast<long long>(out) * Planes<F>::row_bytes(in), scale_row<F>(scales, out, in)};
}

// N neighbours of a row of activations, in pairs. Loads that may be cached, but not those for constants: the previous kernel wrote them
// when this one had started.
template <int N> __device__ __forceinline__ void load_pairs(const bf16* x, unsigned (&pairs)[N / 2]) {
    static_assert(N == 4 || N % 8 == 0, "a segment is loaded in vectors");
    if constexpr (N == 4) {
        uint2 v = *reinterpret_cast<const uint2*>(x);
        pairs[0] = v.x, pairs[1] = v.y;
    } else {
#pragma unroll
        for (int i = 0; i < N / 8; i++) {
            uint4 v = reinterpret_cast<const uint4*>(x)[i];
            pairs[4 * i] = v.x, pairs[4 * i + 1] = v.y, pairs[4 * i + 2] = v.z, pairs[4 * i + 3] = v.w;
        }
    }
}

// The low parts of weights: what bf16 takes from them when it rounds to `high`, as pairs.
template <int N> __device__ __forceinline__ void low_pairs(const float (&w)[N], const unsigned (&high)[N / 2], unsigned (&low)[N / 2]) {
#pragma unroll
    for (int i = 0; i < N / 2; i++)
        low[i] = pack_bf16(w[2 * i] - __uint_as_float(high[i] << 16), w[2 * i + 1] - __uint_as_float(high[i] & 0xffff0000u));
}

// The product of up to ROWS rows with OUTS rows of weights, by a block of 256 threads. One row of weights that are floats is multiplied in
// f32. All else goes through tensor cores: f32 and f16 as the sum of two bf16; quants, which bf16 holds, with their scales in f32
// afterwards up to 4 rows; and for more rows weights rounded to bf16, as `dequantise` does for still more.
template <class F, int ROWS> struct Product {
    using P = Planes<F>;
    using Raw = typename P::Raw;
    static constexpr int WARPS = 8;
    static constexpr bool QUANTS = P::SCALED && ROWS <= 4;
    static constexpr bool TENSOR_CORES = ROWS > 1 || QUANTS;
    static constexpr bool TWO_PARTS = std::is_same_v<F, f32> || std::is_same_v<F, f16>;
    static constexpr int TILES = ceil_div(ROWS, 8);  // of 8 outputs
    static constexpr int OUTS = 8 * TILES;
    // Of floats one row at a time: a row of 4096 gives each lane of all warps a chunk or two.
    static constexpr int ALONG = WARPS;
    static constexpr int SEGMENT = P::SEGMENT;
    // Chunks in flight per lane and output, as many as registers allow.
    static constexpr int WORDS = static_cast<int>(sizeof(Raw)) / 4;
    static constexpr int STAGES = !TENSOR_CORES ? 2 : P::CHUNK <= 8 ? 8 / TILES : 4 / TILES;
    // Blocks that a multiprocessor holds, so that enough loads are in flight.
    static constexpr int BLOCKS = TENSOR_CORES && TILES == 1 && WORDS <= 6 ? 3 : 2;
    static_assert(ROWS <= 16, "a tile of the tensor cores has 16 rows");

    using Shared = float[ALONG][OUTS * ROWS];

    // Sum `i`, of output i % OUTS and row i / OUTS, for threads i < OUTS * ROWS; other threads get 0. `row_of(o)` is the StoredRow of output
    // o of the block. Waits for the previous kernel before it reads `x`.
    template <class RowOf> __device__ static float sum(RowOf row_of, const bf16* x, int in, int rows, Shared& shared) {
        if (in % P::CHUNK != 0) {
            by_element(row_of, x, in, rows, shared);
        } else if constexpr (TENSOR_CORES) {
            by_tensor_cores(row_of, x, in, rows, shared);
        } else {
            by_lanes(row_of, x, in, rows, shared);
        }
        __syncthreads();
        float sum = 0.0f;
        if (threadIdx.x < OUTS * ROWS) {
#pragma unroll
            for (int part = 0; part < ALONG; part++) sum += shared[part][threadIdx.x];
        }
        return sum;
    }

    // Lanes take chunks in turn, each for all outputs of its warp.
    template <class RowOf> __device__ static void by_lanes(RowOf row_of, const bf16* x, int in, int rows, Shared& shared) {
        const int along = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        const int chunks = in / P::CHUNK, step = ALONG * WARP, start = along * WARP + lane;
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
                if (lane == 0) shared[along][r * OUTS + o] = sum;
            }
    }

    // Rows of activations are the rows of the tensor cores' tile, weights its columns. Both may take the elements of `in` in any order, if
    // it is the same one: lane l has chunk l % 4 of four, of row l / 4 of either, and each product takes four of its elements.
    template <class RowOf> __device__ static void by_tensor_cores(RowOf row_of, const bf16* x, int in, int rows, Shared& shared) {
        const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, group = lane / 4, quarter = lane % 4;
        const int chunks = in / P::CHUNK, turns = (ceil_div(chunks, 4) - warp + WARPS - 1) / WARPS;
        StoredRow weights[TILES];
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) weights[tile] = row_of(8 * tile + group);
        auto chunk_of = [&](int turn) { return 4 * (turn * WARPS + warp) + quarter; };
        Raw raw[STAGES][TILES];
        auto load = [&](Raw(&raw)[TILES], int turn) {
            if (chunk_of(turn) >= chunks) {
#pragma unroll
                for (int tile = 0; tile < TILES; tile++) raw[tile] = Raw{};
                return;
            }
#pragma unroll
            for (int tile = 0; tile < TILES; tile++) raw[tile] = P::load(weights[tile].planes, in, chunk_of(turn), weights[tile].scales);
        };
#pragma unroll
        for (int s = 0; s < STAGES; s++) load(raw[s], s);
        start_next();
        wait_for_previous();

        float sums[TILES][4] = {};
        auto multiply = [&](const Raw(&raw)[TILES], int turn) {
            const int chunk = chunk_of(turn);
            if constexpr (QUANTS) {
                multiply_quants(raw[0], chunk, chunks, x, in, rows, sums[0]);
            } else {
#pragma unroll
            for (int segment = 0; segment < P::SEGMENTS; segment++) {
                unsigned low[SEGMENT / 2] = {}, high[SEGMENT / 2] = {};
                const bf16* at = x + static_cast<long long>(group) * in + P::start(chunk, segment);
                if (chunk < chunks && group < rows) load_pairs<SEGMENT>(at, low);
                if constexpr (ROWS > 8) {
                    if (chunk < chunks && group + 8 < rows) load_pairs<SEGMENT>(at + 8ll * in, high);
                }
#pragma unroll
                for (int tile = 0; tile < TILES; tile++) {
                    unsigned w[SEGMENT / 2];
                    segment_pairs<F>(raw[tile], segment, w);
#pragma unroll
                    for (int i = 0; i < SEGMENT / 2; i += 2) {
                        const unsigned a[4] = {low[i], high[i], low[i + 1], high[i + 1]};
                        mma(sums[tile], a, w[i], w[i + 1]);
                    }
                    if constexpr (TWO_PARTS) {
                        float exact[SEGMENT];
                        unsigned rest[SEGMENT / 2];
                        P::decode(raw[tile], segment, exact);
                        low_pairs<SEGMENT>(exact, w, rest);
#pragma unroll
                        for (int i = 0; i < SEGMENT / 2; i += 2) {
                            const unsigned a[4] = {low[i], high[i], low[i + 1], high[i + 1]};
                            mma(sums[tile], a, rest[i], rest[i + 1]);
                        }
                    }
                }
            }
            }
        };
        for (int turn = 0; turn < turns; turn += STAGES) {
#pragma unroll
            for (int s = 0; s < STAGES; s++) {
                if (turn + s < turns) multiply(raw[s], turn + s);
                load(raw[s], turn + s + STAGES);
            }
        }
        if constexpr (QUANTS) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float sum = sums[0][i];
                sum += __shfl_xor_sync(0xffffffff, sum, 4);
                sum += __shfl_xor_sync(0xffffffff, sum, 8);
                int row = group / 4 + i / 2 * 2;
                if (group % 4 == 0 && row < ROWS) shared[warp][row * OUTS + 2 * quarter + i % 2] = sum;
            }
        } else {
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int row = group + i / 2 * 8;
                if (row < ROWS) shared[warp][row * OUTS + 8 * tile + 2 * quarter + i % 2] = sums[tile][i];
            }
        }
    }

    // The four chunks of four lanes have scales of their own, so their sums stay apart: row i of the tile has activations for chunk i % 4
    // only, of row i / 4, and zeros for the others.
    __device__ static void multiply_quants(const Raw& raw, int chunk, int chunks, const bf16* x, int in, int rows, float (&sums)[4]) {
        const int lane = threadIdx.x % WARP, group = lane / 4, quarter = lane % 4, row = group / 4;
        // Sums of outputs 2 * quarter and the next, for chunk group % 4: the lanes that hold their scales.
        const int from = 4 * (2 * quarter) + group % 4, next = from + 4;
        const bool mine = quarter == group % 4 && chunk < chunks;
#pragma unroll
        for (int segment = 0; segment < P::SEGMENTS; segment++) {
            unsigned low[SEGMENT / 2] = {}, high[SEGMENT / 2] = {};
            const bf16* at = x + static_cast<long long>(row) * in + P::start(chunk, segment);
            if (mine && row < rows) load_pairs<SEGMENT>(at, low);
            if constexpr (ROWS > 2) {
                if (mine && row + 2 < rows) load_pairs<SEGMENT>(at + 2ll * in, high);
            }
            float w[SEGMENT], part[4] = {};
            P::decode(raw, segment, w);
#pragma unroll
            for (int i = 0; i < SEGMENT / 2; i += 2) {
                const unsigned a[4] = {low[i], high[i], low[i + 1], high[i + 1]};
                mma(part, a, pack_bf16(w[2 * i], w[2 * i + 1]), pack_bf16(w[2 * i + 2], w[2 * i + 3]));
            }
            const float scale = P::scale(raw, segment);
            const float first = __shfl_sync(0xffffffff, scale, from), second = __shfl_sync(0xffffffff, scale, next);
            sums[0] = fmaf(first, part[0], sums[0]), sums[1] = fmaf(second, part[1], sums[1]);
            if constexpr (ROWS > 2) sums[2] = fmaf(first, part[2], sums[2]), sums[3] = fmaf(second, part[3], sums[3]);
            if constexpr (P::OFFSET) {
                // The offset meets the sum of the activations, which the one lane of four has that loaded them.
                const float offset = P::offset(raw, segment);
                const float first = __shfl_sync(0xffffffff, offset, from), second = __shfl_sync(0xffffffff, offset, next);
                const float total = __shfl_sync(0xffffffff, sum_of_pairs(low), 4 * group + group % 4);
                sums[0] = fmaf(first, total, sums[0]), sums[1] = fmaf(second, total, sums[1]);
                if constexpr (ROWS > 2) {
                    const float total = __shfl_sync(0xffffffff, sum_of_pairs(high), 4 * group + group % 4);
                    sums[2] = fmaf(first, total, sums[2]), sums[3] = fmaf(second, total, sums[3]);
                }
            }
        }
    }
    __device__ static float sum_of_pairs(const unsigned (&pairs)[SEGMENT / 2]) {
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < SEGMENT / 2; i++) sum += __uint_as_float(pairs[i] << 16) + __uint_as_float(pairs[i] & 0xffff0000u);
        return sum;
    }

    // Rows that are no whole number of chunks: any alignment, one element at a time.
    template <class RowOf> __device__ static void by_element(RowOf row_of, const bf16* x, int in, int rows, Shared& shared) {
        const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        start_next();
        wait_for_previous();
        for (int i = threadIdx.x; i < ALONG * OUTS * ROWS; i += WARPS * WARP) shared[i / (OUTS * ROWS)][i % (OUTS * ROWS)] = 0.0f;
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
                if (lane == 0) shared[0][r * OUTS + o] = sum;
            }
        }
    }
};
