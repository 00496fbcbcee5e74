// Rows of the embedding as floats: a thread decodes a chunk of stored blocks at a time.
#pragma once
#include "planes.cuh"
#include "step.cuh"
#include "vector.cuh"

template <class F>
__device__ __forceinline__ void embedding(const Step& step, const unsigned char* table, const float* scales, float factor, float* x,
                                          int dim, int vocab, int rows) {
    using P = Planes<F>;
    const int row = blockIdx.x, chunks = ceil_div(dim, P::CHUNK);
    wait_for_previous();
    start_next();
    if (row >= rows) return;
    const int token = checked(step, step.token_ids[row], vocab, ERROR_TOKEN);
    TENON_ASSERT(token >= 0 && token < vocab);
    const unsigned char* stored = table + static_cast<long long>(token) * P::row_bytes(dim);
    const float* row_scales = scale_row<F>(scales, token, dim);
    float* out = x + static_cast<long long>(row) * dim;
    for (int chunk = blockIdx.y * blockDim.x + threadIdx.x; chunk < chunks; chunk += gridDim.y * blockDim.x) {
        const typename P::Raw raw = P::load(stored, dim, chunk, row_scales);
#pragma unroll
        for (int segment = 0; segment < P::SEGMENTS; segment++) {
            const int first = P::start(chunk, segment);
            float w[P::SEGMENT];
            segment_weights<F>(raw, segment, w);
#pragma unroll
            for (int i = 0; i < P::SEGMENT; i++) w[i] *= factor;
            if (dim % 4 == 0 && first + P::SEGMENT <= dim) {
                store_vector(out + first, w);
                continue;
            }
            // The last chunk of a row may have less, and of rows of odd length only single elements are aligned.
#pragma unroll
            for (int i = 0; i < P::SEGMENT; i++) {
                if (first + i < dim) out[first + i] = w[i];
            }
        }
    }
}
