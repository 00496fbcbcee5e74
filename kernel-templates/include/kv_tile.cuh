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

// The element at which the keys of `position` start in a cache [pages, 2, heads, page_size, head_dim], given its table entry.
__device__ __forceinline__ long long key_offset(const Step& step, int entry, int position, int head, int heads, int head_dim) {
    const long long page = checked(step, entry, step.pages_of_cache, ERROR_PAGE);
    const int place = static_cast<unsigned>(position) % static_cast<unsigned>(step.page_size);
    return ((page * 2 * heads + head) * step.page_size + place) * head_dim;
}

// How a row of the cache is copied: in pieces of 16 bytes, or of 8 where rows of fp8 are no multiple of 16.
template <class Cache, int HEAD_DIM> struct KvPiece {
    static constexpr int BYTES = HEAD_DIM * sizeof(Cache) % 16 == 0 ? 16 : 8;
    static constexpr int LEN = BYTES / sizeof(Cache);
    static constexpr int PER_ROW = HEAD_DIM / LEN;
    static_assert(HEAD_DIM % 8 == 0, "a row is whole pieces");
};

// 8 or 16 bytes to shared memory in the background; zeros where `valid` is false.
template <int BYTES> __device__ __forceinline__ void copy_piece(void* to, const void* from, bool valid) {
    if constexpr (BYTES == 16) {
        copy_16(to, from, valid);
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(to)), "l"(from), "r"(valid ? 8 : 0) : "memory");
    }
}

// Copies ROWS positions from `first` on. `blocks` holds the offset of each KV_BLOCK of them; `to(row, piece)` is where a piece goes.
// Positions from `limit` on become zeros: their weights are 0, and 0 times what an unwritten page holds could be NaN.
template <class Cache, int HEAD_DIM, int ROWS, int THREADS, class To>
__device__ __forceinline__ void copy_kv(const Cache* cache, const long long* blocks, int first, int limit, int thread, To to) {
    using Piece = KvPiece<Cache, HEAD_DIM>;
    constexpr unsigned PIECES = ROWS * Piece::PER_ROW;
    // Addresses computed ahead take registers, which accumulators of long rows need.
    constexpr int AHEAD = HEAD_DIM > 256 ? 4 : 16;
#pragma unroll AHEAD
    for (unsigned pass = 0; pass < ceil_div(PIECES, THREADS); pass++) {
        const unsigned i = pass * THREADS + thread;
        if (PIECES % THREADS != 0 && i >= PIECES) break;
        const unsigned row = i / Piece::PER_ROW, piece = i % Piece::PER_ROW;
        const bool valid = first + static_cast<int>(row) < limit;
        const Cache* from = cache + (valid ? blocks[row / KV_BLOCK] + row % KV_BLOCK * HEAD_DIM + piece * Piece::LEN : 0);
        copy_piece<Piece::BYTES>(to(row, piece), from, valid);
    }
}

// Four fp8 as four bf16, exactly.
__device__ __forceinline__ uint2 widened(unsigned four) {
    const __half2 low(__nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(four & 0xffff), __NV_E4M3));
    const __half2 high(__nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(four >> 16), __NV_E4M3));
    const float2 a = __half22float2(low), b = __half22float2(high);
    return make_uint2(pack_bf16(a.x, a.y), pack_bf16(b.x, b.y));
}

// Widens the fp8 pieces that this thread copied to `raw` (row after row) itself; `to(row, unit)` is where 8 bf16 go.
template <int HEAD_DIM, int ROWS, int THREADS, class To>
__device__ __forceinline__ void widen_kv(const unsigned char* raw, int thread, To to) {
    using Piece = KvPiece<fp8_e4m3, HEAD_DIM>;
    constexpr unsigned PIECES = ROWS * Piece::PER_ROW, UNITS = Piece::BYTES / 8;
#pragma unroll 4
    for (unsigned pass = 0; pass < ceil_div(PIECES, THREADS); pass++) {
        const unsigned i = pass * THREADS + thread;
        if (PIECES % THREADS != 0 && i >= PIECES) break;
        const unsigned row = i / Piece::PER_ROW, piece = i % Piece::PER_ROW;
        unsigned stored[2 * UNITS];
        if constexpr (UNITS == 2) {
            *reinterpret_cast<uint4*>(stored) = *reinterpret_cast<const uint4*>(raw + i * Piece::BYTES);
        } else {
            *reinterpret_cast<uint2*>(stored) = *reinterpret_cast<const uint2*>(raw + i * Piece::BYTES);
        }
#pragma unroll
        for (unsigned unit = 0; unit < UNITS; unit++) {
            const uint2 a = widened(stored[2 * unit]), b = widened(stored[2 * unit + 1]);
            *reinterpret_cast<uint4*>(to(row, piece * UNITS + unit)) = make_uint4(a.x, a.y, b.x, b.y);
        }
    }
}
