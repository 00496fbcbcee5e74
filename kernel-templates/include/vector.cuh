// Several elements at once, with as few accesses as their alignment allows.
#pragma once
#include "contract.cuh"
#include "types.cuh"

// N elements that lie at a multiple of N elements; accesses are of 16 bytes at most.
template <class T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Vector {
    T at[N];
};

// The largest power of two, up to 8, that divides a number of elements: vectors of that many are aligned wherever it is a stride.
__host__ __device__ constexpr int vector_of(int x) { return x % 8 == 0 ? 8 : x % 4 == 0 ? 4 : x % 2 == 0 ? 2 : 1; }

template <int N, class T> __device__ __forceinline__ void load_vector(const T* from, float (&to)[N]) {
    TENON_ASSERT(is_aligned<alignof(Vector<T, N>)>(from));
    const Vector<T, N> raw = *reinterpret_cast<const Vector<T, N>*>(from);
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = to_float(raw.at[i]);
}

template <int N, class T> __device__ __forceinline__ void store_vector(T* to, const float (&from)[N]) {
    TENON_ASSERT(is_aligned<alignof(Vector<T, N>)>(to));
    Vector<T, N> raw;
#pragma unroll
    for (int i = 0; i < N; i++) raw.at[i] = from_float<T>(from[i]);
    *reinterpret_cast<Vector<T, N>*>(to) = raw;
}
