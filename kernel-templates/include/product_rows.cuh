// The operands of products of a few rows: rows of stored weights, and neighbours of a row of activations.
#pragma once
#include "planes.cuh"

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
