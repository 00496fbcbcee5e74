// x += sigmoid(gate) * y, with one gate per row: how a shared expert joins the routed ones.
#pragma once
#include "activation.cuh"
#include "elementwise.cuh"

__device__ __forceinline__ void sigmoid_gate_add_rows(float* x, const float* gate, const float* y, int dim, int rows) {
    each_pair(x, y, static_cast<long long>(rows) * dim, [&](long long at) {
        int row = static_cast<int>(at / dim), column = static_cast<int>(at - static_cast<long long>(row) * dim);
        float weight = sigmoid(gate[row]);
        return [=](float x, float y) mutable {
            if (column == dim) {
                column = 0;
                weight = sigmoid(gate[++row]);
            }
            column++;
            return x + weight * y;
        };
    });
}
