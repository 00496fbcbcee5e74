// Expanded latent attention works on the contexts of several spans, packed one after another into rows of a workspace.
#pragma once
#include "latent.cuh"

// The first row of the context of span `first_span + i`. Called by whole warps; all lanes get the sum.
template <class Phase> __device__ __forceinline__ int packed_row(const Step& step, int first_span, int i) {
    int rows = 0;
    for (int j = threadIdx.x % WARP; j < i; j += WARP) rows += context_of(step, span_of<Phase>(step, first_span + j));
#pragma unroll
    for (int lane = WARP / 2; lane > 0; lane /= 2) rows += __shfl_xor_sync(0xffffffff, rows, lane);
    return rows;
}

// Which position of which sequence each of `count` packed rows from `first` holds; sequences are -1 past the last. By one warp; the caller
// puts a barrier after it.
template <class Phase>
__device__ __forceinline__ void unpack_rows(const Step& step, int first_span, int spans, int first, int count, int* sequences, int* positions) {
    const int lane = threadIdx.x % WARP;
    for (int row = lane; row < count; row += WARP) sequences[row] = -1;
    __syncwarp();
    int before = 0;
    for (int base = 0; base < spans && before < first + count; base += WARP) {
        const int sequence = base + lane < spans ? span_of<Phase>(step, first_span + base + lane) : -1;
        const int context = context_of(step, sequence);
        int end = context;
#pragma unroll
        for (int distance = 1; distance < WARP; distance *= 2) {
            int other = __shfl_up_sync(0xffffffff, end, distance);
            if (lane >= distance) end += other;
        }
        const int begin = before + end - context;
        for (int row = max(begin, first); row < min(begin + context, first + count); row++) {
            sequences[row - first] = sequence;
            positions[row - first] = row - begin;
        }
        before += __shfl_sync(0xffffffff, end, WARP - 1);
    }
}
