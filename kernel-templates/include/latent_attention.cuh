// Attention of rows of absorbed queries, each [rank + rope], over the latents of one sequence: decode and prefill share it.
//
// A block takes 64 rows: (token, head) pairs of a span, heads running fastest, as they lie in memory. Of each pair of tiles of 64 positions
// warpgroup 0 makes the weights of the first and warpgroup 1 those of the second; each sums half of the columns of the output over both, so
// that the accumulator of 64 x 512 fits their registers. Own weights are in registers, the other's pass through shared memory. Warpgroup 1
// goes half a turn behind: its scores are in the tensor cores while 0 exponentiates. The latent serves as key and as value.
#pragma once
#include "latent_tiles.cuh"

// What a computing thread ends with: two rows of the output, not yet divided by the sum of weights.
template <int HALF> struct LatentRows {
    float out[HALF * 32];
    float maximum[2], sum[2];  // of the whole rows; the maximum is of scores times scale, as a power of two
};

template <class Kv, int RANK, int ROPE> struct LatentAttention {
    using Shape = LatentShape<Kv, RANK, ROPE>;
    LatentTiles<Kv, RANK, ROPE> tiles;
    int thread, group, warp, lane;

    // Barriers of the block, each met once a turn: all who compute have the queries; then the maximum of the first tile is there; the
    // maximum and the weights of the second tile are; the weights of the first one are, on the second's maximum.
    static constexpr int QUERIES_THERE = 1, FIRST_MAXIMUM = 2, SECOND_WEIGHTS = 3, FIRST_WEIGHTS = 4;

    __device__ explicit LatentAttention(unsigned char* shared) : tiles(shared) {
        thread = threadIdx.x;
        group = __shfl_sync(0xffffffff, thread / 128, 0);
        warp = thread % 128 / 32;
        lane = thread % 32;
        tiles.make_barriers();
        __syncthreads();
    }

    // The row of the tile that this thread's accumulators hold first; the other is 8 below.
    __device__ int row() const { return 16 * warp + lane / 4; }
    // The first column of the output that this thread's element j holds.
    __device__ int column(int j) const { return group * Shape::HALF * 64 + 8 * j + 2 * (lane % 4); }
    __device__ bool copies() const { return group == 2; }

    // By the warpgroup that copies: tiles first .. last of a sequence, of which nobody sees `end`.
    __device__ void copy(const Step& step, const void* cache, int sequence, int first, int last, int end) const {
        leave_registers<Shape::COPY_REGISTERS>();
        LatentCopies<Kv, RANK, ROPE> copies{tiles, static_cast<const Kv*>(cache), first, last, end, static_cast<int>(threadIdx.x % LATENT_COPYING)};
        copies.run(step, sequence);
    }

    __device__ void load_queries(const bf16* q, int rows) const {
#pragma unroll
        for (int part = 0; part < 2; part++) {
            int row = part * 32 + thread / 8;
            for (int column = thread % 8 * 8; column < Shape::PADDED; column += 64) {
                bool valid = row < rows && column < Shape::DIM;
                copy_16(tiles.queries + column / 64 * LATENT_ROWS * 128 + swizzled(row, thread % 8), valid ? q + static_cast<long long>(row) * Shape::DIM + column : q, valid);
            }
        }
    }

    // Adds the products of chunks FIRST .. END of both, to the scores of a tile.
    template <int FIRST, int END>
    static __device__ __forceinline__ void add_scores(float (&scores)[32], unsigned queries, unsigned keys, bool add) {
#pragma unroll
        for (int k = 4 * FIRST; k < 4 * END && k < Shape::STEPS; k++) {
            const unsigned at = k / 4 * Shape::CHUNK_BYTES + k % 4 * 32;
            product<64, 0>(scores, along_columns(queries + at), along_columns(keys + at), add || k > 4 * FIRST);
        }
    }

    // Starts the scores of a warpgroup's tile, as its parts arrive.
    __device__ __forceinline__ void start_scores(float (&scores)[32], int pair) const {
        constexpr int HALF = Shape::HALF;
        const unsigned queries = shared_address(tiles.queries), keys = shared_address(tiles.tile(pair, group));
        tiles.wait(pair, group, Shape::OWN);
        if constexpr (Shape::STEPS >= 4 * 2 * HALF) {
            const unsigned own = group * HALF * Shape::CHUNK_BYTES, other = (1 - group) * HALF * Shape::CHUNK_BYTES;
            products_begin();
            add_scores<0, HALF>(scores, queries + own, keys + own, false);
            tiles.wait(pair, group, Shape::OTHER);
            add_scores<0, HALF>(scores, queries + other, keys + other, true);
            add_scores<2 * HALF, Shape::CHUNKS>(scores, queries, keys, true);
        } else {
            // The second half has fewer columns of keys than of values.
            tiles.wait(pair, group, Shape::OTHER);
            products_begin();
            add_scores<0, Shape::CHUNKS>(scores, queries, keys, false);
        }
        products_commit();
    }

    // Weights of 16 positions times the values of this warpgroup's columns.
    static __device__ __forceinline__ unsigned long long values_of(unsigned tile, int group, int k) {
        return down_rows(tile + group * Shape::HALF * LATENT_TILE * 128 + k * 2048, LATENT_TILE * 128);
    }
    __device__ __forceinline__ void add_own(LatentRows<Shape::HALF>& state, const unsigned (&own)[4][4], unsigned tile) const {
#pragma unroll
        for (int k = 0; k < 4; k++) product<Shape::HALF * 64, 1>(state.out, own[k], values_of(tile, group, k));
    }
    __device__ __forceinline__ void add_other(LatentRows<Shape::HALF>& state, const unsigned char* weights, unsigned tile) const {
#pragma unroll
        for (int k = 0; k < 4; k++) product<Shape::HALF * 64, 1>(state.out, along_columns(shared_address(weights) + k * 32), values_of(tile, group, k), 1);
    }

    // What weights are on where the largest score so far is `before` and a new one comes: a score that is at most 2^8 times as heavy changes
    // nothing. Sums are as exact on that, and need no rescaling.
    static __device__ __forceinline__ float raised(float before, float score) { return score > before + 8.0f ? score : before; }

    // Sums so far are multiplied by `shrink`. After the first tiles no maximum is raised.
    static __device__ __forceinline__ void rescale(LatentRows<Shape::HALF>& state, const float (&shrink)[2]) {
        if (!__any_sync(0xffffffff, shrink[0] != 1.0f || shrink[1] != 1.0f)) return;
#pragma unroll
        for (int i = 0; i < Shape::HALF * 32; i++) state.out[i] *= shrink[i / 2 % 2];
    }

    __device__ __forceinline__ void put_maxima(const LatentRows<Shape::HALF>& state) const {
#pragma unroll
        for (int half = 0; half < 2; half++)
            if (lane % 4 == 0) tiles.maxima[group * LATENT_ROWS + row() + 8 * half] = state.maximum[half];
    }
    __device__ __forceinline__ float other_maximum(int half) const { return tiles.maxima[(1 - group) * LATENT_ROWS + row() + 8 * half]; }

    // Scores become weights on the row's maximum; their sum is returned.
    __device__ __forceinline__ void weigh(float (&scores)[32], LatentRows<Shape::HALF>& state) const {
#pragma unroll
        for (int i = 0; i < 32; i++) {
            scores[i] = exp2_of(scores[i] - state.maximum[i / 2 % 2]);
            state.sum[i / 2 % 2] += scores[i];
        }
    }
    __device__ __forceinline__ void put_weights(unsigned char* to, const float (&scores)[32], const float (&factor)[2]) const {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            unsigned packed[4];
#pragma unroll
            for (int i = 0; i < 4; i++) packed[i] = pack_bf16(scores[8 * k + 2 * i] * factor[i % 2], scores[8 * k + 2 * i + 1] * factor[i % 2]);
            store_matrices(to + swizzled(16 * warp + lane % 16, 2 * k + lane / 16), packed);
        }
        written_for_products();
    }

    // Rows `q` [rows, rank + rope] over tiles first .. last of a sequence, by the two warpgroups that compute. Row r sees positions up to
    // limit_of(r); limits do not fall with r, and the first row sees position first * 64.
    template <class LimitOf>
    __device__ LatentRows<Shape::HALF> attend(const bf16* q, int rows, int first, int last, float scale, LimitOf limit_of) {
        take_registers<Shape::COMPUTE_REGISTERS>();
        LatentRows<Shape::HALF> state;
#pragma unroll
        for (float& x : state.out) x = 0.0f;
        state.sum[0] = state.sum[1] = 0.0f;
        state.maximum[0] = state.maximum[1] = -INFINITY;
        float top[2] = {-INFINITY, -INFINITY};  // of the own tiles
        const int limits[2] = {limit_of(row()), limit_of(row() + 8)}, seen_by_all = limit_of(0);
        const float to_power = scale * LOG2_E;

        load_queries(q, rows);
        commit_copies();
        wait_copies<0>();
        written_for_products();
        meet_at(QUERIES_THERE, LATENT_COMPUTING);

        const int pairs = ceil_div(last - first, 2);
        for (int pair = 0; pair < pairs; pair++) {
            const int tile = first + 2 * pair + group;
            const bool both = first + 2 * pair + 1 < last, own = group == 0 || both;
            const unsigned first_tile = shared_address(tiles.tile(pair, 0)), second_tile = shared_address(tiles.tile(pair, 1));
            unsigned char *first_weights = tiles.weights(pair, 0), *second_weights = tiles.weights(pair, 1);
            const float before[2] = {state.maximum[0], state.maximum[1]};
            float scores[32], shrink[2], largest[2] = {-INFINITY, -INFINITY};
            if (own) {
                start_scores(scores, pair);
                products_wait<0>();
                const int position = tile * LATENT_TILE + 2 * (lane % 4);
                const bool masked = tile * LATENT_TILE + LATENT_TILE - 1 > seen_by_all;
#pragma unroll
                for (int i = 0; i < 32; i++) {
                    scores[i] *= to_power;
                    if (masked && position + i / 4 * 8 + i % 2 > limits[i / 2 % 2]) scores[i] = -INFINITY;
                    largest[i / 2 % 2] = fmaxf(largest[i / 2 % 2], scores[i]);
                }
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    largest[half] = row_max(largest[half]);
                    top[half] = fmaxf(top[half], largest[half]);
                }
            }
            unsigned weights[4][4];
            if (group == 0) {
#pragma unroll
                for (int half = 0; half < 2; half++) state.maximum[half] = raised(before[half], largest[half]);
                put_maxima(state);
                pass_by(FIRST_MAXIMUM, LATENT_COMPUTING);
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    shrink[half] = exp2_of(before[half] - state.maximum[half]);
                    state.sum[half] *= shrink[half];
                }
                weigh(scores, state);
#pragma unroll
                for (int i = 0; i < 16; i++) weights[i / 4][i % 4] = pack_bf16(scores[2 * i], scores[2 * i + 1]);
                rescale(state, shrink);
                products_begin();
                add_own(state, weights, first_tile);
                products_commit();
                shrink[0] = shrink[1] = 1.0f;
                // Where there is no second tile, too: the other warpgroup is done with the weights of the pair before.
                meet_at(SECOND_WEIGHTS, LATENT_COMPUTING);
                if (both) {
#pragma unroll
                    for (int half = 0; half < 2; half++) {
                        const float common = other_maximum(half);
                        shrink[half] = exp2_of(state.maximum[half] - common);
                        state.maximum[half] = common;
                        state.sum[half] *= shrink[half];
                    }
                }
                put_weights(first_weights, scores, shrink);
                pass_by(FIRST_WEIGHTS, LATENT_COMPUTING);
                products_wait<0>();
                tiles.release(pair, 0, Shape::OWN);
                if (both) {
                    rescale(state, shrink);
                    tiles.wait(pair, 1, Shape::OTHER);
                    products_begin();
                    add_other(state, second_weights, second_tile);
                    products_commit();
                    products_wait<0>();
                    tiles.release(pair, 1, Shape::OTHER);
                }
            } else {
                meet_at(FIRST_MAXIMUM, LATENT_COMPUTING);
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    state.maximum[half] = raised(other_maximum(half), largest[half]);
                    shrink[half] = exp2_of(before[half] - state.maximum[half]);
                    state.sum[half] *= shrink[half];
                }
                rescale(state, shrink);
                products_begin();
                if (both) {
                    put_maxima(state);
                    weigh(scores, state);
                    constexpr float SAME[2] = {1.0f, 1.0f};
                    put_weights(second_weights, scores, SAME);
                }
                pass_by(SECOND_WEIGHTS, LATENT_COMPUTING);
                if (both) {
#pragma unroll
                    for (int i = 0; i < 16; i++) weights[i / 4][i % 4] = pack_bf16(scores[2 * i], scores[2 * i + 1]);
                    products_begin();
                    add_own(state, weights, second_tile);
                }
                products_commit();
                meet_at(FIRST_WEIGHTS, LATENT_COMPUTING);
                tiles.wait(pair, 0, Shape::OTHER);
                add_other(state, first_weights, first_tile);
                products_commit();
                products_wait<1>();
                if (both) tiles.release(pair, 1, Shape::OWN);
                products_wait<0>();
                tiles.release(pair, 0, Shape::OTHER);
            }
        }

        // Of the whole rows, on their true maxima.
        float* sums = tiles.sums + group * LATENT_ROWS;
        float* maxima = tiles.maxima + group * LATENT_ROWS;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            state.sum[half] = row_sum(state.sum[half]);
            if (lane % 4 == 0) sums[row() + 8 * half] = state.sum[half];
        }
        meet_at(QUERIES_THERE, LATENT_COMPUTING);
#pragma unroll
        for (int half = 0; half < 2; half++)
            if (lane % 4 == 0) maxima[row() + 8 * half] = top[half];
        meet_at(QUERIES_THERE, LATENT_COMPUTING);
        float to_top[2];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int at = row() + 8 * half;
            const float maximum = fmaxf(tiles.maxima[at], tiles.maxima[LATENT_ROWS + at]);
            to_top[half] = exp2_of(state.maximum[half] - maximum);
            state.maximum[half] = maximum;
            state.sum[half] = (tiles.sums[at] + tiles.sums[LATENT_ROWS + at]) * to_top[half];
        }
        rescale(state, to_top);
        return state;
    }

    // The rows, divided by their sums, to [rows, rank].
    __device__ void store(const LatentRows<Shape::HALF>& state, bf16* out, int rows) const {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int r = row() + 8 * half;
            if (r >= rows) continue;
            float share = 1.0f / state.sum[half];
#pragma unroll
            for (int j = 0; j < Shape::HALF * 8; j++) {
                if (column(j) >= RANK) continue;
                *reinterpret_cast<unsigned*>(out + static_cast<long long>(r) * RANK + column(j)) =
                    pack_bf16(state.out[4 * j + 2 * half] * share, state.out[4 * j + 2 * half + 1] * share);
            }
        }
    }
};
