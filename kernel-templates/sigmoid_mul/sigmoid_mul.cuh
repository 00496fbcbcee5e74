// x *= sigmoid(gate).
#pragma once
#include "activation.cuh"
#include "elementwise.cuh"

__device__ __forceinline__ void sigmoid_mul_rows(bf16* x, const bf16* gate, int dim, int rows) {
    each_pair(x, gate, static_cast<long long>(rows) * dim, [](long long) { return [](float x, float gate) { return x * sigmoid(gate); }; });
}
