// y = act(G x) * (U x) for a few rows: one launch in place of two products and a multiplication, and neither product is rounded.
#pragma once
#include "activation.cuh"
#include "product.cuh"

template <class F, int ROWS, class Act>
__device__ void linear_gated(const unsigned char* gate, const unsigned char* up, const float* gate_scales, const float* up_scales, float gate_factor,
                             float up_factor, const bf16* x, bf16* y, int out, int in, int rows) {
    using Sums = FewRows<F, ROWS>;
    constexpr int OUTS = Sums::OUTS / 2;
    // Rows of the two matrices in turn: neighbours are a gate and its output. Outputs after the last read its weights, and are not written.
    auto row_of = [&](int tile, int i) {
        return stored_row<F>(i % 2 ? up : gate, i % 2 ? up_scales : gate_scales, min(tile * OUTS + i / 2, out - 1), in);
    };
    Sums::run(row_of, ceil_div(out, OUTS), x, in, rows, [&](int tile, int i, float sum, bool on) {
        const float next = __shfl_down_sync(0xffffffff, sum, 1);
        const int o = tile * OUTS + i % Sums::OUTS / 2, row = i / Sums::OUTS;
        if (!on || i % 2 != 0 || o >= out || row >= min(rows, ROWS)) return;
        y[static_cast<long long>(row) * out + o] = from_float<bf16>(Act::of(gate_factor * sum) * (up_factor * next));
    });
}
