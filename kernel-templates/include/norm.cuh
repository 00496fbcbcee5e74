// RMS norms of rows, a thread block per row whose elements stay in registers.
#pragma once
#include "step.cuh"
#include "vector.cuh"
#include "warp.cuh"

// How a row of DIM elements lies over a block of 1 to 16 warps; launches say the same with `min(512, 32 * ceil_div(dim, 256))`.
template <int DIM> struct Row {
    static constexpr int WARPS = ceil_div(DIM, 256) < 16 ? ceil_div(DIM, 256) : 16;
    static constexpr int THREADS = WARPS * WARP;
    // Elements of a vector, and vectors of a thread.
    static constexpr int V = vector_of(DIM);
    static constexpr int VECTORS = ceil_div(DIM / V, THREADS);

    float at[VECTORS][V];

    // The first element of a vector of this thread.
    static __device__ __forceinline__ int first(int vector) { return (vector * THREADS + threadIdx.x) * V; }
    // Whether it lies within the row: only the last vector of a thread may not.
    static __device__ __forceinline__ bool within(int vector) {
        return DIM % (THREADS * V) == 0 || vector < VECTORS - 1 || first(vector) < DIM;
    }

    // Elements outside the row are zeros.
    template <class X> __device__ __forceinline__ void load(const X* row) {
        TENON_ASSERT(threads_of_block() == THREADS);
#pragma unroll
        for (int j = 0; j < VECTORS; j++) {
            if (within(j)) {
                load_vector<V>(row + first(j), at[j]);
            } else {
#pragma unroll
                for (int i = 0; i < V; i++) at[j][i] = 0.0f;
            }
        }
    }

    template <class X> __device__ __forceinline__ void store(X* row) const {
#pragma unroll
        for (int j = 0; j < VECTORS; j++) {
            if (within(j)) store_vector<V>(row + first(j), at[j]);
        }
    }

    // at = f(at, other)
    template <class X, class F> __device__ __forceinline__ void combine(const X* row, F f) {
#pragma unroll
        for (int j = 0; j < VECTORS; j++) {
            if (!within(j)) continue;
            float other[V];
            load_vector<V>(row + first(j), other);
#pragma unroll
            for (int i = 0; i < V; i++) at[j][i] = f(at[j][i], other[i]);
        }
    }

    // 1 / sqrt(mean of squares + eps), in every thread.
    __device__ __forceinline__ float scale(float eps) const {
        __shared__ float room[WARPS];
        float sum = 0.0f;
#pragma unroll
        for (int j = 0; j < VECTORS; j++) {
#pragma unroll
            for (int i = 0; i < V; i++) sum += at[j][i] * at[j][i];
        }
        return 1.0f / sqrtf(block_sum<WARPS>(sum, room) / DIM + eps);
    }

    // at = weight * (at * scale)
    __device__ __forceinline__ void normalise(const float* weight, float eps) {
        const float factor = scale(eps);
        combine(weight, [&](float x, float w) { return w * (x * factor); });
    }
};
