// x = act(x), in place.
#pragma once
#include "activation.cuh"
#include "elementwise.cuh"

template <class Act> __device__ __forceinline__ void activate(bf16* x, int dim, int rows) {
    each(x, static_cast<long long>(rows) * dim, [](long long) { return [](float x) { return Act::of(x); }; });
}
