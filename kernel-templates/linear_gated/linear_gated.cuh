// y = act(G x) * (U x) for a few rows: one launch in place of two products and a multiplication, and neither product is rounded.
#pragma once
#include "activation.cuh"
#include "product.cuh"

template <class F, int ROWS, class Act>
__device__ void linear_gated(const unsigned char* gate, const unsigned char* up, const float* gate_scales, const float* up_scales, float gate_factor,
                             float up_factor, const bf16* x, bf16* y, int out, int in, int rows) {
    using Sums = Product<F, ROWS>;
    constexpr int OUTS = Sums::OUTS / 2;
    __shared__ typename Sums::Shared shared;
    const int first = blockIdx.x * OUTS;
    // Rows of the two matrices in turn: neighbours are a gate and its output. Outputs after the last read its weights, and are not written.
    auto row_of = [&](int i) {
        const int o = min(first + i / 2, out - 1);
        return i % 2 ? stored_row<F>(up, up_scales, o, in) : stored_row<F>(gate, gate_scales, o, in);
    };
    const float value = Sums::sum(row_of, x, in, rows, shared);
    const float next = __shfl_down_sync(0xffffffff, value, 1);
    const int o = first + threadIdx.x % Sums::OUTS / 2, row = threadIdx.x / Sums::OUTS;
    if (threadIdx.x % 2 != 0 || o >= out || row >= min(rows, ROWS)) return;
    y[static_cast<long long>(row) * out + o] = from_float<bf16>(Act::of(gate_factor * value) * (up_factor * next));
}
