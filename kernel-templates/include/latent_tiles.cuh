// Tiles of latents on their way to shared memory, for the kernels of absorbed latent attention: one warpgroup copies, two compute.
#pragma once
#include "latent.cuh"
#include "pipeline.cuh"
#include "warpgroup.cuh"

constexpr int LATENT_ROWS = 64;
constexpr int LATENT_COMPUTING = 256, LATENT_COPYING = 128, LATENT_THREADS = LATENT_COMPUTING + LATENT_COPYING;
// Pages hold a multiple of this many positions, so that as many from a multiple on lie next to each other.
constexpr int LATENT_BLOCK = 16, LATENT_BLOCKS = LATENT_TILE / LATENT_BLOCK;

// Tiles come in pairs, one for each computing warpgroup. A tile is copied and released in two parts: the half of the output's columns that
// its own warpgroup sums, and the half that the other one sums together with what only keys have. Where a chunk is only of keys, the tile's
// weights take its room as soon as the scores are made. TEMPLATE.toml computes the same sizes.
template <class Kv, int RANK, int ROPE> struct LatentShape {
    static constexpr int DIM = RANK + ROPE, PADDED = round_up(DIM, 16), STEPS = PADDED / 16;
    static constexpr int HALF = ceil_div(ceil_div(RANK, 64), 2);  // chunks of the output of one warpgroup
    static constexpr int CHUNKS = ceil_div(DIM, 64) > 2 * HALF ? ceil_div(DIM, 64) : 2 * HALF;
    static constexpr int CHUNK_BYTES = LATENT_TILE * 128, TILE = CHUNKS * CHUNK_BYTES;
    static constexpr bool IS_BF16 = sizeof(Kv) == 2, WEIGHTS_IN_TILE = CHUNKS > 2 * HALF;
    static constexpr int PAIRS = CHUNKS <= 5 ? 2 : 1;
    static constexpr int OWN = 0, OTHER = 1, BARRIERS = 2 * 2 * PAIRS;
    static constexpr int SMALL = 2048;
    static constexpr int SHARED = TILE + 2 * PAIRS * TILE + (WEIGHTS_IN_TILE ? 0 : 2 * CHUNK_BYTES) + SMALL;
    static constexpr int COPY_REGISTERS = IS_BF16 ? 40 : 56, COMPUTE_REGISTERS = IS_BF16 ? 232 : 224;
    static_assert(RANK % 8 == 0 && ROPE % 8 == 0 && RANK > 0 && ROPE > 0, "rows are copied 8 elements at a time");
    static_assert(RANK <= 512, "the accumulator of a warpgroup is 64 x 256 at most");
    static_assert(LATENT_ROWS == LATENT_TILE, "weights are as large as a chunk of a tile");
    static_assert(4 * LATENT_ROWS * 4 + 2 * BARRIERS * 8 <= SMALL, "maxima, sums and barriers have their room");
    static_assert(SHARED <= 232448, "more shared memory than a block may have");
};

// Shared memory of a block, and the barriers of its tiles.
template <class Kv, int RANK, int ROPE> struct LatentTiles {
    using Shape = LatentShape<Kv, RANK, ROPE>;
    unsigned char *queries, *tiles, *rest;
    float *maxima, *sums;
    Barrier *full, *empty;

    __device__ __forceinline__ explicit LatentTiles(unsigned char* shared) {
        queries = shared;
        tiles = queries + Shape::TILE;
        rest = tiles + 2 * Shape::PAIRS * Shape::TILE;
        maxima = reinterpret_cast<float*>(rest + (Shape::WEIGHTS_IN_TILE ? 0 : 2 * Shape::CHUNK_BYTES));
        sums = maxima + 2 * LATENT_ROWS;
        full = reinterpret_cast<Barrier*>(sums + 2 * LATENT_ROWS);
        empty = full + Shape::BARRIERS;
    }

    // A part is full when every copying thread has copied its share, and empty when the warps of the one warpgroup that reads it last are
    // done with it.
    __device__ __forceinline__ void make_barriers() const {
        if (threadIdx.x < Shape::BARRIERS) {
            make_barrier(full + threadIdx.x, LATENT_COPYING);
            make_barrier(empty + threadIdx.x, 4);
        }
    }
    // Tile `member` of pair `pair`.
    __device__ __forceinline__ unsigned char* tile(int pair, int member) const { return tiles + (pair % Shape::PAIRS * 2 + member) * Shape::TILE; }
    __device__ __forceinline__ unsigned char* weights(int pair, int member) const {
        return Shape::WEIGHTS_IN_TILE ? tile(pair, member) + 2 * Shape::HALF * Shape::CHUNK_BYTES : rest + member * Shape::CHUNK_BYTES;
    }
    static __device__ __forceinline__ int barrier(int pair, int member, int part) { return (pair % Shape::PAIRS * 2 + member) * 2 + part; }
    __device__ __forceinline__ void wait(int pair, int member, int part) const {
        wait_phase(full + barrier(pair, member, part), pair / Shape::PAIRS % 2);
        written_for_products();
    }
    __device__ __forceinline__ void release(int pair, int member, int part) const {
        if (threadIdx.x % 32 == 0) arrive(empty + barrier(pair, member, part));
    }
};

// What the copying warpgroup does.
template <class Kv, int RANK, int ROPE> struct LatentCopies {
    using Shape = LatentShape<Kv, RANK, ROPE>;
    const LatentTiles<Kv, RANK, ROPE>& tiles;
    const Kv* cache;
    int first, last, end, thread;
    int block_row;  // lane l: the row of the cache at which block l of the pair begins

    __device__ __forceinline__ int position(int pair, int lane) const { return (first + 2 * pair) * LATENT_TILE + lane * LATENT_BLOCK; }
    __device__ __forceinline__ int find_page(const Step& step, int sequence, int position) const {
        if (thread % 32 >= 2 * LATENT_BLOCKS || position >= end) return 0;
        return step.pages[static_cast<long long>(sequence) * step.table_stride + static_cast<unsigned>(position) / static_cast<unsigned>(step.page_size)];
    }
    __device__ __forceinline__ void set_row(const Step& step, int page, int position) {
        block_row = checked(step, page, step.pages_of_cache, ERROR_PAGE) * step.page_size + static_cast<unsigned>(position) % static_cast<unsigned>(step.page_size);
    }

    // Copies a part of a tile: bf16 in the background, 8 threads 128 bytes of a row; fp8 through registers. Positions from `end` on
    // become zeros: their weights are 0, and 0 times what an unwritten page holds could be NaN.
    __device__ __forceinline__ void copy(int pair, int member, int part) const {
        const int at = LatentTiles<Kv, RANK, ROPE>::barrier(pair, member, part), parity = pair / Shape::PAIRS % 2 ^ 1;
        const int half = (member ^ part) * Shape::HALF;
        if constexpr (Shape::IS_BF16) wait_phase(tiles.empty + at, parity);
        // Elements of fp8 are in registers meanwhile, of which there are few.
        constexpr int AT_ONCE = Shape::IS_BF16 ? Shape::HALF : 2 - Shape::HALF % 2;
#pragma unroll 1
        for (int chunk = 0; chunk < Shape::HALF; chunk += AT_ONCE) copy_chunks<AT_ONCE>(pair, member, half + chunk, tiles.empty + at, parity);
        if constexpr (Shape::CHUNKS > 2 * Shape::HALF)
            if (part == Shape::OTHER) copy_chunks<Shape::CHUNKS - 2 * Shape::HALF>(pair, member, 2 * Shape::HALF, tiles.empty + at, parity);
        if constexpr (Shape::IS_BF16) {
            arrive_with_copies(tiles.full + at);
        } else {
            written_for_products();
            arrive(tiles.full + at);
        }
    }

    // Copies LEN chunks from `first` on; raw elements come before the room is waited for.
    template <int LEN> __device__ __forceinline__ void copy_chunks(int pair, int member, int first, Barrier* empty, int parity) const {
        unsigned char* to = tiles.tile(pair, member) + first * Shape::CHUNK_BYTES;
        const int left = end - position(pair, member * LATENT_BLOCKS);
        // Whether a column may be past the end of a row.
        constexpr bool RAGGED = Shape::DIM % 64 != 0 || Shape::CHUNKS * 64 > Shape::DIM;
        if constexpr (Shape::IS_BF16) {
            const int line = thread / 8, unit = thread % 8, column = first * 64 + unit * 8;
            // Before the first copy, so that none waits for its row.
            int rows[LATENT_BLOCKS];
#pragma unroll
            for (int block = 0; block < LATENT_BLOCKS; block++) rows[block] = __shfl_sync(0xffffffff, block_row, member * LATENT_BLOCKS + block);
#pragma unroll
            for (int block = 0; block < LATENT_BLOCKS; block++) {
                const int row = block * LATENT_BLOCK + line;
                const Kv* from = cache + static_cast<long long>(rows[block]) * Shape::DIM + (line * Shape::DIM + column);
#pragma unroll
                for (int chunk = 0; chunk < LEN; chunk++) {
                    const bool valid = row < left && (!RAGGED || column + chunk * 64 < Shape::DIM);
                    copy_16(to + chunk * Shape::CHUNK_BYTES + swizzled(row, unit), valid ? from + chunk * 64 : cache, valid);
                }
            }
        } else {
            // 4 threads load 64 bytes of a row, 16 each, and store 32.
            constexpr int PASSES = LATENT_TILE / 32;
            const int line = thread / 4, quarter = thread % 4, column = first * 64 + quarter * 16;
            uint4 raw[LEN * PASSES];
#pragma unroll
            for (int pass = 0; pass < PASSES; pass++) {
                const int row = pass * 32 + line;
                const int block = __shfl_sync(0xffffffff, block_row, member * LATENT_BLOCKS + row / LATENT_BLOCK);
                const Kv* from = cache + static_cast<long long>(block) * Shape::DIM + (row % LATENT_BLOCK * Shape::DIM + column);
#pragma unroll
                for (int chunk = 0; chunk < LEN; chunk++) {
                    uint4& value = raw[chunk * PASSES + pass];
                    value = {0, 0, 0, 0};
                    if (row >= left || (RAGGED && column + chunk * 64 >= Shape::DIM)) continue;
                    if constexpr (Shape::DIM % 16 == 0) {
                        value = *reinterpret_cast<const uint4*>(from + chunk * 64);
                    } else {
                        const uint2 low = *reinterpret_cast<const uint2*>(from + chunk * 64);
                        value.x = low.x, value.y = low.y;
                        if (column + chunk * 64 + 8 < Shape::DIM) {
                            const uint2 high = *reinterpret_cast<const uint2*>(from + chunk * 64 + 8);
                            value.z = high.x, value.w = high.y;
                        }
                    }
                }
            }
            wait_phase(empty, parity);
#pragma unroll
            for (int chunk = 0; chunk < LEN; chunk++) {
#pragma unroll
                for (int pass = 0; pass < PASSES; pass++) {
                    const int row = pass * 32 + line;
                    const uint4 value = raw[chunk * PASSES + pass];
                    const uint2 a = bf16_of_e4m3(value.x), b = bf16_of_e4m3(value.y), c = bf16_of_e4m3(value.z), d = bf16_of_e4m3(value.w);
                    *reinterpret_cast<uint4*>(to + chunk * Shape::CHUNK_BYTES + swizzled(row, 2 * quarter)) = {a.x, a.y, b.x, b.y};
                    *reinterpret_cast<uint4*>(to + chunk * Shape::CHUNK_BYTES + swizzled(row, 2 * quarter + 1)) = {c.x, c.y, d.x, d.y};
                }
            }
        }
    }

    // Parts follow in the order in which those of the pair before are released.
    __device__ __forceinline__ void run(const Step& step, int sequence) {
        const int lane = thread % 32, pairs = ceil_div(last - first, 2);
        set_row(step, find_page(step, sequence, position(0, lane)), position(0, lane));
        for (int pair = 0; pair < pairs; pair++) {
            const bool both = first + 2 * pair + 1 < last;
            const int next = position(pair + 1, lane), page = find_page(step, sequence, next);
            constexpr int COPIES = Shape::IS_BF16 ? 4 : 1;  // written out
#pragma unroll COPIES
            for (int i = 0; i < 4; i++) {
                const int member = i % 2, part = i / 2;
                if (member == 0 || both) copy(pair, member, part);
            }
            set_row(step, page, next);
        }
    }
};
