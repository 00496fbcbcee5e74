// Copies the rows that want logits, in their order.
#pragma once
#include "step.cuh"
#include "vector.cuh"

__device__ __forceinline__ void gather_rows(const Step& step, const float* x, float* last, int dim, int rows) {
    const int to = blockIdx.x;
    wait_for_previous();
    start_next();
    // Of the rows of a launch, those beyond the step's own are padding.
    if (to >= rows || to >= step.counts[COUNT_LOGIT_ROWS]) return;
    const int from = checked(step, step.logit_row[to], step.counts[COUNT_TOKENS], ERROR_ROW);
    TENON_ASSERT(from >= 0 && from < step.counts[COUNT_TOKENS]);
    const float* source = x + static_cast<long long>(from) * dim;
    float* target = last + static_cast<long long>(to) * dim;
    if (dim % 4 == 0) {
        for (int i = threadIdx.x; i < dim / 4; i += blockDim.x) {
            reinterpret_cast<float4*>(target)[i] = reinterpret_cast<const float4*>(source)[i];
        }
    } else {
        for (int i = threadIdx.x; i < dim; i += blockDim.x) target[i] = source[i];
    }
}
