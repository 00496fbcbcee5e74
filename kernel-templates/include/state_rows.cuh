// One step of a recurrence whose state is rows that do not see each other: which lanes hold a row, and sums over them.
#pragma once
#include "types.cuh"
#include "warp.cuh"

// A row of COLUMNS floats lies in LANES lanes, EACH vectors of 4 in each.
template <int COLUMNS> struct StateRows {
    static constexpr int THREADS = 256, ROWS_OF_BLOCK = 64;
    static constexpr int VECTORS = COLUMNS / 4;
    static constexpr int LANES = VECTORS > 16 ? 32 : VECTORS > 8 ? 16 : VECTORS > 4 ? 8 : 4;
    static constexpr int EACH = ceil_div(VECTORS, LANES);
    static constexpr int AT_ONCE = THREADS / LANES;                             // rows that all threads hold at a time
    static constexpr int TIMES = ceil_div(ROWS_OF_BLOCK, AT_ONCE);              // how often they do
    static constexpr int TOGETHER = TIMES < 8 / EACH ? TIMES : 8 / EACH;        // how many of those are loaded before the first is used
    static_assert(COLUMNS % 8 == 0 && COLUMNS <= 1024 && AT_ONCE <= ROWS_OF_BLOCK && TIMES % TOGETHER == 0,
                  "a lane holds up to 8 vectors, and no row is of two blocks");

    static __device__ int lane() { return threadIdx.x % LANES; }
    static __device__ int row() { return threadIdx.x / LANES; }
    // The first column of a lane's i-th vector; not below COLUMNS where the lane has none.
    static __device__ int column(int i) { return 4 * (i * LANES + lane()); }

    // The lane's columns of a vector of bf16; 0 where it has none.
    static __device__ void load(float (&to)[EACH][4], const bf16* from) {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            TENON_ASSERT(threads_of_block() == THREADS && is_aligned<8>(from));
            uint2 four = make_uint2(0, 0);
            if (column(i) < COLUMNS) four = *reinterpret_cast<const uint2*>(from + column(i));
            to[i][0] = __uint_as_float(four.x << 16), to[i][1] = __uint_as_float(four.x & 0xffff0000u);
            to[i][2] = __uint_as_float(four.y << 16), to[i][3] = __uint_as_float(four.y & 0xffff0000u);
        }
    }

    // A row of the state: read once and written once in a step, so it need not stay in the caches.
    static __device__ void load_row(float4 (&to)[EACH], const float* row, bool valid) {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            TENON_ASSERT(!valid || is_aligned<16>(row));
            to[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (valid && column(i) < COLUMNS) to[i] = __ldcs(reinterpret_cast<const float4*>(row + column(i)));
        }
    }
    static __device__ void store_row(const float4 (&from)[EACH], float* row) {
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (column(i) < COLUMNS) __stcs(reinterpret_cast<float4*>(row + column(i)), from[i]);
    }

    // The sum over the lanes of a row, in each of them.
    static __device__ float sum(float x) {
#pragma unroll
        for (int offset = LANES / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(0xffffffff, x, offset);
        return x;
    }
};
