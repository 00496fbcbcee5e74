// The token with the largest logit of each row, the lowest of equals; a block per row.
#pragma once
#include "logits.cuh"
#include "step.cuh"

__device__ __forceinline__ void argmax_rows(const float* logits, int* ids, int vocab, int rows) {
    __shared__ unsigned long long room[LOGIT_WARPS];
    const long long row = blockIdx.x;
    wait_for_previous();
    start_next();
    if (row >= rows) return;
    const unsigned long long best = largest_logit(logits + row * vocab, vocab, room);
    if (threadIdx.x == 0) ids[row] = token_of(best);
}
