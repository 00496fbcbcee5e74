// out = the sum over a token's routes of weight times part, in the order of the routes; zeros where a row is padding.
#pragma once
#include "experts.cuh"
#include "step.cuh"
#include "vector.cuh"

template <int WIDE, class Part, class Out>
__device__ __forceinline__ void sum_routes(const float* weights, const int* ids, const Part* parts, Out* out, int hidden, int top_k) {
    const long long row = blockIdx.x, first = row * top_k;
    for (int at = (blockIdx.y * blockDim.x + threadIdx.x) * WIDE; at < hidden; at += gridDim.y * blockDim.x * WIDE) {
        float sum[WIDE] = {};
#pragma unroll 4
        for (int k = 0; k < top_k; k++) {
            // A pair without an expert has no part.
            if (ids[first + k] < 0) continue;
            const float weight = weights[first + k];
            float part[WIDE];
            load_vector<WIDE>(parts + (first + k) * hidden + at, part);
#pragma unroll
            for (int i = 0; i < WIDE; i++) sum[i] = fmaf(weight, part[i], sum[i]);
        }
        store_vector<WIDE>(out + row * hidden + at, sum);
    }
}

template <class Part, class Out>
__device__ __forceinline__ void experts_sum(const float* weights, const int* ids, const void* parts, Out* out, int hidden, int top_k,
                                            int rows) {
    wait_for_previous();
    start_next();
    if (static_cast<int>(blockIdx.x) >= rows) return;
    const Part* typed = static_cast<const Part*>(parts);
    if (hidden % 4 == 0) sum_routes<4>(weights, ids, typed, out, hidden, top_k);
    else sum_routes<1>(weights, ids, typed, out, hidden, top_k);
}
