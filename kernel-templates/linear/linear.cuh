// y = W x for a few rows, stored as bf16 or f32, or added to f32.
#pragma once
#include "product.cuh"

constexpr int MODE_BF16 = 0, MODE_F32 = 1, MODE_ADD = 2;

template <class F, int ROWS>
__device__ void linear(const unsigned char* weight, const float* scales, float factor, const bf16* x, void* y, int mode, int out, int in, int rows) {
    using Sums = FewRows<F, ROWS>;
    // Outputs after the last read its weights, and are not written.
    auto row_of = [&](int tile, int o) { return stored_row<F>(weight, scales, min(tile * Sums::OUTS + o, out - 1), in); };
    Sums::run(row_of, ceil_div(out, Sums::OUTS), x, in, rows, [&](int tile, int i, float sum, bool on) {
        const int o = tile * Sums::OUTS + i % Sums::OUTS, row = i / Sums::OUTS;
        if (!on || o >= out || row >= min(rows, ROWS)) return;
        const float value = factor * sum;
        const long long at = static_cast<long long>(row) * out + o;
        if (mode == MODE_BF16) {
            static_cast<bf16*>(y)[at] = from_float<bf16>(value);
        } else if (mode == MODE_F32) {
            static_cast<float*>(y)[at] = value;
        } else {
            static_cast<float*>(y)[at] += value;
        }
    });
}
