// Element types under the names that specs use, and their conversions. Arithmetic is in float.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

using f32 = float;
using f16 = __half;
using bf16 = __nv_bfloat16;
using fp8_e4m3 = __nv_fp8_e4m3;

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(f16 x) { return __half2float(x); }
__device__ __forceinline__ float to_float(bf16 x) { return __bfloat162float(x); }
__device__ __forceinline__ float to_float(fp8_e4m3 x) { return static_cast<float>(x); }

// To the nearest, ties to even; fp8 saturates at 448.
template <class T> __device__ __forceinline__ T from_float(float x);
template <> __device__ __forceinline__ float from_float<float>(float x) { return x; }
template <> __device__ __forceinline__ f16 from_float<f16>(float x) { return __float2half_rn(x); }
template <> __device__ __forceinline__ bf16 from_float<bf16>(float x) { return __float2bfloat16_rn(x); }
template <> __device__ __forceinline__ fp8_e4m3 from_float<fp8_e4m3>(float x) { return fp8_e4m3(x); }

// 16 bytes of elements, loaded and stored at once.
template <class T> struct alignas(16) Pack {
    static constexpr int LEN = 16 / sizeof(T);
    T at[LEN];
};

// A value rounded up to a multiple.
__host__ __device__ constexpr int round_up(int x, int multiple) { return (x + multiple - 1) / multiple * multiple; }
__host__ __device__ constexpr int ceil_div(int x, int y) { return (x + y - 1) / y; }
