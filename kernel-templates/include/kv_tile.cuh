// Tiles of a paged cache on their way to shared memory: which page holds a block of positions, the copies, and fp8 widened to bf16.
#pragma once
#include "mma.cuh"
#include "step.cuh"

// Pages hold a multiple of this many positions, so that as many from a multiple on lie next to each other.
constexpr int KV_BLOCK = 16;

// The page table's entry for a position; 0 from `limit` on, where nothing is cached and the table may have ended.
__device__ __forceinline__ int page_entry(const Step& step, int sequence, int position, int limit) {
    if (position >= limit) return 0;
    return step.pages[static_cast<long long>(sequence) * step.table_stride + static_cast<unsigned>(position) / static_cast<unsigned>(step.page_size)];
}

// The row of a cache [pages, 2, heads, page_size] that holds the keys of `position`, given its table entry. Caches have fewer than 2^31 rows:
// of 64 dimensions that many would take 256 GB.
__device__ __forceinline__ int key_row(const Step& step, int entry, int position, int head, int heads) {
    const int page = checked(step, entry, step.pages_of_cache, ERROR_PAGE);
    const int place = static_cast<unsigned>(position) % static_cast<unsigned>(step.page_size);
    return (page * 2 * heads + head) * step.page_size + place;
}

// The byte at which that row starts.
__device__ __forceinline__ long long key_offset(const Step& step, int entry, int position, int head, int heads, int row_bytes) {
    return static_cast<long long>(key_row(step, entry, position, head, heads)) * row_bytes;
}

// How the threads of a block copy a tile: each some rows of one column of pieces, STEP rows apart. A piece is 16 bytes, or 8 where rows
// of fp8 are no multiple of 16. STEP is a power of two; threads past STEP * PER_ROW copy nothing.
template <class Cache, int HEAD_DIM, int ROWS, int THREADS> struct KvPieces {
    static constexpr int ROW_BYTES = HEAD_DIM * sizeof(Cache), BYTES = ROW_BYTES % 16 == 0 ? 16 : 8, PER_ROW = ROW_BYTES / BYTES;
    static constexpr int step() {
        int step = 1;
        while (2 * step * PER_ROW <= THREADS && 2 * step <= ROWS) step *= 2;
        return step;
    }
    static constexpr int STEP = step(), PASSES = ROWS / STEP;
    static_assert(HEAD_DIM % 8 == 0 && PER_ROW <= THREADS && ROWS % STEP == 0, "rows are whole pieces, and every piece has a thread");
};

// 8 or 16 bytes to shared memory in the background; zeros where `valid` is false.
template <int BYTES> __device__ __forceinline__ void copy_piece(void* to, const void* from, bool valid) {
    if constexpr (BYTES == 16) {
        copy_16(to, from, valid);
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(to)), "l"(from), "r"(valid ? 8 : 0) : "memory");
    }
}

// Copies ROWS positions from `first` on. `blocks` holds the byte offset of each KV_BLOCK of them from `cache`; row r, piece p go to
// `to(r, p)`, which 8 rows further is 8 * PITCH bytes further. Positions from `limit` on become zeros: their weights are 0, and 0 times
// what an unwritten page holds could be NaN.
template <class Cache, int HEAD_DIM, int ROWS, int THREADS, int PITCH, class To>
__device__ __forceinline__ void copy_kv(const unsigned char* cache, const long long* blocks, int first, int limit, int thread, To to) {
    using Pieces = KvPieces<Cache, HEAD_DIM, ROWS, THREADS>;
    constexpr int STEP = Pieces::STEP;
    const int row = thread / Pieces::PER_ROW, piece = thread % Pieces::PER_ROW;
    if (STEP * Pieces::PER_ROW < THREADS && row >= STEP) return;
    const unsigned char* from = cache + (row % KV_BLOCK * Pieces::ROW_BYTES + piece * Pieces::BYTES);
    const long long* own_blocks = blocks + (STEP > KV_BLOCK ? row / KV_BLOCK : 0);
    const int left = limit - first - row;
    // Addresses computed ahead take registers, which accumulators of long rows need.
    constexpr int AHEAD = HEAD_DIM > 256 ? (sizeof(Cache) == 1 ? 1 : 4) : (HEAD_DIM > 128 && sizeof(Cache) == 1 ? 2 : 16);
#pragma unroll AHEAD
    for (int pass = 0; pass < Pieces::PASSES; pass++) {
        const int at = pass * STEP;
        copy_piece<Pieces::BYTES>(to(row + at % 8, piece) + at / 8 * 8 * PITCH,
                                  from + own_blocks[at / KV_BLOCK] + at % KV_BLOCK * Pieces::ROW_BYTES, left > at);
    }
}

// The same by a warpgroup that only copies, where lane b of each warp has the row of the cache at which block b starts. What a lane has
// to read before it can copy is read before the first copy: a thread that waits for it each time keeps everyone waiting.
template <class Cache, int HEAD_DIM, int ROWS, int THREADS, int PITCH, class To>
__device__ __forceinline__ void copy_kv_blocks(const unsigned char* cache, int block_row, int first, int limit, int thread, To to) {
    using Pieces = KvPieces<Cache, HEAD_DIM, ROWS, THREADS>;
    constexpr int STEP = Pieces::STEP;
    constexpr bool MANY = STEP > KV_BLOCK;  // one pass takes several blocks
    constexpr int COUNT = MANY ? Pieces::PASSES : ROWS / KV_BLOCK;
    const int row = thread / Pieces::PER_ROW, piece = thread % Pieces::PER_ROW;
    int block_rows[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; i++) block_rows[i] = __shfl_sync(0xffffffff, block_row, MANY ? (i * STEP + row) / KV_BLOCK : i);
    if (STEP * Pieces::PER_ROW < THREADS && row >= STEP) return;
    const unsigned char* from = cache + (row % KV_BLOCK * Pieces::ROW_BYTES + piece * Pieces::BYTES);
    const int left = limit - first - row;
#pragma unroll
    for (int pass = 0; pass < Pieces::PASSES; pass++) {
        const int at = pass * STEP;
        const long long block = static_cast<long long>(block_rows[MANY ? pass : at / KV_BLOCK]) * Pieces::ROW_BYTES;
        copy_piece<Pieces::BYTES>(to(row + at % 8, piece) + at / 8 * 8 * PITCH, from + block + at % KV_BLOCK * Pieces::ROW_BYTES, left > at);
    }
}

// Four fp8 as four bf16, exactly.
__device__ __forceinline__ uint2 widened(unsigned four) {
    const __half2 low(__nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(four & 0xffff), __NV_E4M3));
    const __half2 high(__nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(four >> 16), __NV_E4M3));
    const float2 a = __half22float2(low), b = __half22float2(high);
    return make_uint2(pack_bf16(a.x, a.y), pack_bf16(b.x, b.y));
}

// Widens the fp8 pieces that this thread copied to `raw` (row after row) itself; row r, 8 columns from 8 u go to `to(r, u)`, as above.
template <int HEAD_DIM, int ROWS, int THREADS, int PITCH, class To>
__device__ __forceinline__ void widen_kv(const unsigned char* raw, int thread, To to) {
    using Pieces = KvPieces<fp8_e4m3, HEAD_DIM, ROWS, THREADS>;
    constexpr int STEP = Pieces::STEP, UNITS = Pieces::BYTES / 8;
    const int row = thread / Pieces::PER_ROW, piece = thread % Pieces::PER_ROW;
    if (STEP * Pieces::PER_ROW < THREADS && row >= STEP) return;
    const unsigned char* from = raw + row * HEAD_DIM + piece * Pieces::BYTES;
    constexpr int AHEAD = HEAD_DIM > 128 ? 2 : 4;
#pragma unroll AHEAD
    for (int pass = 0; pass < Pieces::PASSES; pass++) {
        const int at = pass * STEP;
        unsigned stored[2 * UNITS];
        if constexpr (UNITS == 2) {
            *reinterpret_cast<uint4*>(stored) = *reinterpret_cast<const uint4*>(from + at * HEAD_DIM);
        } else {
            *reinterpret_cast<uint2*>(stored) = *reinterpret_cast<const uint2*>(from + at * HEAD_DIM);
        }
#pragma unroll
        for (int unit = 0; unit < UNITS; unit++) {
            const uint2 a = widened(stored[2 * unit]), b = widened(stored[2 * unit + 1]);
            *reinterpret_cast<uint4*>(to(row + at % 8, piece * UNITS + unit) + at / 8 * 8 * PITCH) = make_uint4(a.x, a.y, b.x, b.y);
        }
    }
}
