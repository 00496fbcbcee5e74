// A stored matrix as bf16, for a matrix product that follows. A block takes RANGE elements of a row.
#pragma once
#include "planes.cuh"
#include "step.cuh"

template <class F, int RANGE, int THREADS>
__device__ void dequantise(const unsigned char* weight, const float* scales, float factor, bf16* out_matrix, int out, int in) {
    using P = Planes<F>;
    constexpr int CHUNKS = RANGE / P::CHUNK, TURNS = CHUNKS / THREADS;
    static_assert(CHUNKS % THREADS == 0, "every thread takes as many chunks");
    const int o = blockIdx.x;
    const unsigned char* row = weight + static_cast<long long>(o) * P::row_bytes(in);
    const float* row_scales = scale_row<F>(scales, o, in);
    bf16* to = out_matrix + static_cast<long long>(o) * in;
    // Vectors need rows of whole chunks, which keep rows of the result at 16 bytes as well.
    if (in % P::CHUNK != 0 || in % 8 != 0) {
        start_next();
        wait_for_previous();
        const int first = blockIdx.y * RANGE, end = min(first + RANGE, in);
        for (int k = first + threadIdx.x; k < end; k += THREADS) to[k] = from_float<bf16>(factor * P::element(row, in, k, row_scales));
        return;
    }
    const int chunks = in / P::CHUNK, first = blockIdx.y * CHUNKS + threadIdx.x;
    typename P::Raw raw[TURNS];
#pragma unroll
    for (int turn = 0; turn < TURNS; turn++) {
        int chunk = first + turn * THREADS;
        if (chunk < chunks) raw[turn] = P::load(row, in, chunk, row_scales);
    }
    start_next();
    wait_for_previous();
#pragma unroll
    for (int turn = 0; turn < TURNS; turn++) {
        int chunk = first + turn * THREADS;
        if (chunk >= chunks) break;
#pragma unroll
        for (int segment = 0; segment < P::SEGMENTS; segment++) {
            float w[P::SEGMENT];
            segment_weights<F>(raw[turn], segment, w);
            unsigned pairs[P::SEGMENT / 2];
#pragma unroll
            for (int i = 0; i < P::SEGMENT / 2; i++) pairs[i] = pack_bf16(factor * w[2 * i], factor * w[2 * i + 1]);
            bf16* at = to + P::start(chunk, segment);
            if constexpr (P::SEGMENT == 4) {
                *reinterpret_cast<uint2*>(at) = make_uint2(pairs[0], pairs[1]);
            } else {
#pragma unroll
                for (int i = 0; i < P::SEGMENT / 8; i++)
                    reinterpret_cast<uint4*>(at)[i] = make_uint4(pairs[4 * i], pairs[4 * i + 1], pairs[4 * i + 2], pairs[4 * i + 3]);
            }
        }
    }
}
