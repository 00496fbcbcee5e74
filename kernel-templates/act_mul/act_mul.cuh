// gate = act(gate) * up, in place.
#pragma once
#include "activation.cuh"
#include "elementwise.cuh"

template <class Act> __device__ __forceinline__ void act_mul(bf16* gate, const bf16* up, int dim, int rows) {
    auto product = [](float gate, float up) { return Act::of(gate) * up; };
    each_pair(gate, up, static_cast<long long>(rows) * dim, [&](long long) { return product; });
}
