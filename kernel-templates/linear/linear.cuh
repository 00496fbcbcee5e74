// y = W x for a few rows, stored as bf16 or f32, or added to f32.
#pragma once
#include "product.cuh"

constexpr int MODE_BF16 = 0, MODE_F32 = 1, MODE_ADD = 2;

template <class F, int ROWS>
__device__ void linear(const unsigned char* weight, const float* scales, float factor, const bf16* x, void* y, int mode, int out, int in, int rows) {
    using Sums = Product<F, ROWS>;
    __shared__ typename Sums::Shared shared;
    const int first = blockIdx.x * Sums::OUTS;
    // Outputs after the last read its weights, and are not written.
    auto row_of = [&](int o) { return stored_row<F>(weight, scales, min(first + o, out - 1), in); };
    const float value = factor * Sums::sum(row_of, x, in, rows, shared);
    const int o = first + threadIdx.x % Sums::OUTS, row = threadIdx.x / Sums::OUTS;
    if (o >= out || row >= min(rows, ROWS)) return;
    const long long at = static_cast<long long>(row) * out + o;
    if (mode == MODE_BF16) {
        static_cast<bf16*>(y)[at] = from_float<bf16>(value);
    } else if (mode == MODE_F32) {
        static_cast<float*>(y)[at] = value;
    } else {
        static_cast<float*>(y)[at] += value;
    }
}
