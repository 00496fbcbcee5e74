// Passes over all elements of rows that lie back to back: eight per thread, so that the length of a row does not matter.
#pragma once
#include "step.cuh"
#include "vector.cuh"

// Elements of a thread. A block has 256 threads, and launches divide the elements by 2048.
constexpr int ELEMENTS = 8;

// The first element of this thread.
__device__ __forceinline__ long long first_element() {
    return (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) * ELEMENTS;
}

// x[i] = f(x[i]). `from(at)` makes the function for the elements from `at` on, which it then gets in their order.
template <class X, class From> __device__ __forceinline__ void each(X* x, long long count, From from) {
    const long long at = first_element();
    wait_for_previous();
    start_next();
    if (at >= count) return;
    auto f = from(at);
    if (at + ELEMENTS <= count) {
        float values[ELEMENTS];
        load_vector<ELEMENTS>(x + at, values);
#pragma unroll
        for (int i = 0; i < ELEMENTS; i++) values[i] = f(values[i]);
        store_vector<ELEMENTS>(x + at, values);
    } else {
        for (long long i = at; i < count; i++) x[i] = from_float<X>(f(to_float(x[i])));
    }
}

// x[i] = f(x[i], y[i]), the same.
template <class X, class Y, class From> __device__ __forceinline__ void each_pair(X* x, const Y* y, long long count, From from) {
    const long long at = first_element();
    wait_for_previous();
    start_next();
    if (at >= count) return;
    auto f = from(at);
    if (at + ELEMENTS <= count) {
        float values[ELEMENTS], others[ELEMENTS];
        load_vector<ELEMENTS>(x + at, values);
        load_vector<ELEMENTS>(y + at, others);
#pragma unroll
        for (int i = 0; i < ELEMENTS; i++) values[i] = f(values[i], others[i]);
        store_vector<ELEMENTS>(x + at, values);
    } else {
        for (long long i = at; i < count; i++) x[i] = from_float<X>(f(to_float(x[i]), to_float(y[i])));
    }
}
