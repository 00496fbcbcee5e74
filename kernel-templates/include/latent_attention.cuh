// Attention of rows of absorbed queries, each [rank + rope], over the latents of one sequence: decode and prefill share it.
//
// A block is two warpgroups and takes 64 rows: (token, head) pairs of a span, heads running fastest, as they lie in memory. Per tile of 64
// positions each warpgroup makes the scores of half of the positions, and then half of the columns of the output, so that the
// accumulator of 64 x 512 fits their registers; the weights pass through shared memory. The latent serves as key and as value.
#pragma once
#include "latent.cuh"
#include "warpgroup.cuh"

constexpr int LATENT_ROWS = 64;
constexpr int LATENT_THREADS = 256;

template <class Kv, int RANK, int ROPE> struct LatentShape {
    static constexpr int DIM = RANK + ROPE, PADDED = round_up(DIM, 16);
    static constexpr int HALF = ceil_div(ceil_div(RANK, 64), 2);  // chunks of the output of one warpgroup
    static constexpr int CHUNKS = ceil_div(DIM, 64) > 2 * HALF ? ceil_div(DIM, 64) : 2 * HALF;
    static constexpr int TILE = CHUNKS * LATENT_TILE * 128;      // bytes
    static constexpr bool IS_BF16 = sizeof(Kv) == 2;
    static constexpr int RAW_ROW = round_up(DIM, 16), RAW = LATENT_TILE * RAW_ROW;
    // Tiles that are being read or on their way: as many as fit beside the queries, up to 4.
    static constexpr int STAGES = 27 / CHUNKS - 1 < 4 ? 27 / CHUNKS - 1 : 4;
    static constexpr int TILES = IS_BF16 ? STAGES * TILE : TILE + STAGES * RAW;
    static constexpr int WEIGHTS = LATENT_ROWS * 128;
    // Queries, tiles, weights, maxima and sums of the rows per warpgroup, where the rows of up to four tiles begin.
    static constexpr int SHARED = TILE + TILES + WEIGHTS + 4 * LATENT_ROWS * 4 + 4 * LATENT_TILE * 8;
    static_assert(RANK % 8 == 0 && ROPE % 8 == 0 && RANK > 0 && ROPE > 0, "rows are copied 8 elements at a time");
    static_assert(RANK <= 512, "the accumulator of a warpgroup is 64 x 256 at most");
    static_assert(STAGES >= 2 && SHARED <= 232448, "more shared memory than a block may have");
};

// What a thread ends with: two rows of the output, not yet divided by the sum of weights.
template <int HALF> struct LatentRows {
    float out[HALF * 32];
    float maximum[2], sum[2];  // of the whole rows; the maximum is of scores times scale, as a power of two
};

template <class Kv, int RANK, int ROPE> struct LatentAttention {
    using Shape = LatentShape<Kv, RANK, ROPE>;
    unsigned char *queries, *tiles, *weights;
    float *maxima, *sums;
    const Kv** row_of;
    int thread, group, warp, lane;

    __device__ explicit LatentAttention(unsigned char* shared) {
        queries = shared;
        tiles = queries + Shape::TILE;
        weights = tiles + Shape::TILES;
        maxima = reinterpret_cast<float*>(weights + Shape::WEIGHTS);
        sums = maxima + 2 * LATENT_ROWS;
        row_of = reinterpret_cast<const Kv**>(sums + 2 * LATENT_ROWS);
        thread = threadIdx.x;
        group = thread / 128;
        warp = thread % 128 / 32;
        lane = thread % 32;
    }

    // The row of the tile that this thread's accumulators hold first; the other is 8 below.
    __device__ int row() const { return 16 * warp + lane / 4; }
    // The first column of the output that this thread's element j holds.
    __device__ int column(int j) const { return group * Shape::HALF * 64 + 8 * j + 2 * (lane % 4); }

    // Where the rows of a tile begin, null past the context, in two steps: the page may take long to come, and there is work meanwhile.
    __device__ int find_page(const Step& step, int sequence, int position, int end) const {
        if (position >= end) return 0;
        return step.pages[static_cast<long long>(sequence) * step.table_stride + position / step.page_size];
    }
    __device__ void put_row(const Step& step, const void* cache, int position, int end, int page) {
        const Kv* row = nullptr;
        if (position < end) {
            long long first = static_cast<long long>(checked(step, page, step.pages_of_cache, ERROR_PAGE)) * step.page_size;
            row = static_cast<const Kv*>(cache) + (first + position % step.page_size) * Shape::DIM;
        }
        row_of[position % (Shape::STAGES * LATENT_TILE)] = row;
    }

    // A tile of bf16 as it is, one of fp8 raw: 8 threads copy 128 bytes of a row.
    __device__ void load_tile(int tile, const void* anywhere) {
        if constexpr (Shape::IS_BF16) {
            unsigned char* to = tiles + tile % Shape::STAGES * Shape::TILE;
#pragma unroll
            for (int part = 0; part < 2; part++) {
                int row = part * 32 + thread / 8;
                const Kv* from = row_of[tile % Shape::STAGES * LATENT_TILE + row];
#pragma unroll
                for (int chunk = 0; chunk < ceil_div(Shape::PADDED, 64); chunk++) {
                    int column = chunk * 64 + thread % 8 * 8;
                    if (column >= Shape::PADDED) break;
                    bool valid = from && column < Shape::DIM;
                    copy_16(to + chunk * LATENT_TILE * 128 + swizzled(row, thread % 8), valid ? static_cast<const void*>(from + column) : anywhere, valid);
                }
            }
        } else {
            constexpr int VECTOR = Shape::DIM % 16 == 0 ? 16 : 8, PER_ROW = ceil_div(Shape::DIM, VECTOR);
            unsigned char* to = tiles + Shape::TILE + tile % Shape::STAGES * Shape::RAW;
            for (int i = thread; i < LATENT_TILE * PER_ROW; i += LATENT_THREADS) {
                int row = i / PER_ROW, column = i % PER_ROW * VECTOR;
                const Kv* from = row_of[tile % Shape::STAGES * LATENT_TILE + row];
                const void* source = from ? static_cast<const void*>(from + column) : anywhere;
                if constexpr (VECTOR == 16) copy_16(to + row * Shape::RAW_ROW + column, source, from != nullptr);
                else copy_8(to + row * Shape::RAW_ROW + column, source, from != nullptr);
            }
        }
    }

    // Raw fp8 to the one tile of bf16.
    __device__ void convert_tile(int tile) {
        const unsigned char* raw = tiles + Shape::TILE + tile % Shape::STAGES * Shape::RAW;
        constexpr int PER_ROW = Shape::PADDED / 8;
        for (int i = thread; i < LATENT_TILE * PER_ROW; i += LATENT_THREADS) {
            int row = i / PER_ROW, vector = i % PER_ROW;
            uint4 value = {0, 0, 0, 0};
            if (vector * 8 < Shape::DIM) value = eight_bf16(reinterpret_cast<const fp8_e4m3*>(raw + row * Shape::RAW_ROW + vector * 8));
            *reinterpret_cast<uint4*>(tiles + vector / 8 * LATENT_TILE * 128 + swizzled(row, vector % 8)) = value;
        }
    }

    __device__ void load_queries(const bf16* q, int rows) {
#pragma unroll
        for (int part = 0; part < 2; part++) {
            int row = part * 32 + thread / 8;
            for (int column = thread % 8 * 8; column < Shape::PADDED; column += 64) {
                bool valid = row < rows && column < Shape::DIM;
                copy_16(queries + column / 64 * LATENT_ROWS * 128 + swizzled(row, thread % 8), valid ? q + static_cast<long long>(row) * Shape::DIM + column : q, valid);
            }
        }
    }

    // Rows `q` [rows, rank + rope] over tiles first .. last of a sequence. Row r sees positions up to limit_of(r); limits do not fall
    // with r, the first row sees position first * 64, and nobody sees `end`.
    template <class LimitOf>
    __device__ LatentRows<Shape::HALF> attend(const Step& step, const void* cache, int sequence, const bf16* q, int rows,
                                                   int first, int last, int end, float scale, LimitOf limit_of) {
        LatentRows<Shape::HALF> state;
#pragma unroll
        for (float& x : state.out) x = 0.0f;
        float sum[2] = {0.0f, 0.0f};
        state.maximum[0] = state.maximum[1] = -INFINITY;
        const int limits[2] = {limit_of(row()), limit_of(row() + 8)}, seen_by_all = limit_of(0);
        const float to_power = scale * LOG2_E;
        const unsigned query_address = shared_address(queries), weight_address = shared_address(weights);

        constexpr int AHEAD = Shape::STAGES - 1;
        if (thread < Shape::STAGES * LATENT_TILE) {
            const int position = first * LATENT_TILE + thread;
            put_row(step, cache, position, end, find_page(step, sequence, position, end));
        }
        __syncthreads();
        load_queries(q, rows);
#pragma unroll
        for (int tile = 0; tile < AHEAD; tile++) {
            if (first + tile < last) load_tile(first + tile, cache);
            commit_copies();
        }
        for (int tile = first; tile < last; tile++) {
            // Here everyone has this tile, and has done with the one before, whose room goes to the last one under way.
            wait_copies<AHEAD - 1>();
            written_for_products();
            __syncthreads();
            if (tile + AHEAD < last) load_tile(tile + AHEAD, cache);
            commit_copies();
            const int next = (tile + Shape::STAGES) * LATENT_TILE + thread;
            const int page = thread < LATENT_TILE ? find_page(step, sequence, next, end) : 0;
            if constexpr (!Shape::IS_BF16) {
                convert_tile(tile);
                written_for_products();
                __syncthreads();
            }
            const unsigned keys = shared_address(tiles) + (Shape::IS_BF16 ? tile % Shape::STAGES * Shape::TILE : 0);

            float scores[16];
            products_begin();
#pragma unroll
            for (int k = 0; k < Shape::PADDED / 16; k++) {
                const unsigned at = k / 4 * LATENT_TILE * 128 + k % 4 * 32;
                product<32, 0>(scores, along_columns(query_address + at), along_columns(keys + at + group * 32 * 128), k > 0);
            }
            products_commit();
            products_wait<0>();

            if (thread < LATENT_TILE) put_row(step, cache, next, end, page);
            const int position = tile * LATENT_TILE + group * 32 + 2 * (lane % 4);
            const bool masked = tile * LATENT_TILE + LATENT_TILE - 1 > seen_by_all;
            float maximum[2] = {-INFINITY, -INFINITY};
#pragma unroll
            for (int i = 0; i < 16; i++) {
                scores[i] *= to_power;
                if (masked && position + i / 4 * 8 + i % 2 > limits[i / 2 % 2]) scores[i] = -INFINITY;
                maximum[i / 2 % 2] = fmaxf(maximum[i / 2 % 2], scores[i]);
            }
#pragma unroll
            for (int half = 0; half < 2; half++) {
                maximum[half] = row_max(maximum[half]);
                if (lane % 4 == 0) maxima[group * LATENT_ROWS + row() + 8 * half] = maximum[half];
            }
            __syncthreads();
            float shrink[2];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                float other = maxima[(1 - group) * LATENT_ROWS + row() + 8 * half];
                float larger = fmaxf(state.maximum[half], fmaxf(maximum[half], other));
                shrink[half] = exp2_of(state.maximum[half] - larger);
                state.maximum[half] = larger;
                sum[half] *= shrink[half];
            }
#pragma unroll
            for (int i = 0; i < 16; i += 2) {
                const int half = i / 2 % 2, weight_row = row() + 8 * half;
                float x = exp2_of(scores[i] - state.maximum[half]), y = exp2_of(scores[i + 1] - state.maximum[half]);
                sum[half] += x + y;
                *reinterpret_cast<unsigned*>(weights + swizzled(weight_row, group * 4 + i / 4) + lane % 4 * 4) = pack_bf16(x, y);
            }
            written_for_products();
            __syncthreads();

// Maxima grow rarely after the first tiles.
            if (__any_sync(0xffffffff, shrink[0] != 1.0f || shrink[1] != 1.0f)) {
#pragma unroll
                for (int i = 0; i < Shape::HALF * 32; i++) state.out[i] *= shrink[i / 2 % 2];
            }
            products_begin();
#pragma unroll
            for (int k = 0; k < LATENT_TILE / 16; k++) {
                const unsigned values = keys + group * Shape::HALF * LATENT_TILE * 128 + k * 2048;
                product<Shape::HALF * 64, 1>(state.out, along_columns(weight_address + k * 32), down_rows(values, LATENT_TILE * 128), 1);
            }
            products_commit();
            products_wait<0>();
        }
        wait_copies<0>();

#pragma unroll
        for (int half = 0; half < 2; half++) {
            sum[half] = row_sum(sum[half]);
            if (lane % 4 == 0) sums[group * LATENT_ROWS + row() + 8 * half] = sum[half];
        }
        __syncthreads();
#pragma unroll
        for (int half = 0; half < 2; half++) state.sum[half] = sums[row() + 8 * half] + sums[LATENT_ROWS + row() + 8 * half];
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
