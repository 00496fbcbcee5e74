// Matrix products of a warpgroup (four warps, the first at a multiple of four): wgmma on bf16, accumulated in f32.
//
// Operands in shared memory are chunks of 64 columns: a chunk is [rows][64] bf16, 128 bytes a row, at a multiple of 1024 bytes, and the
// 16 bytes number c of row r lie at place c ^ (r % 8), which is what the tensor cores call the swizzle of 128 bytes.
#pragma once
#include "mma.cuh"

// Where 16 bytes lie within a chunk, in bytes.
__device__ __forceinline__ int swizzled(int row, int vector) { return row * 128 + ((vector ^ (row & 7)) << 4); }

// An operand whose sum runs along the columns of a chunk: rows are rows of A or columns of B. `address` moves by 32 bytes per 16 columns
// of the sum, by 1024 per 8 rows.
__device__ __forceinline__ unsigned long long along_columns(unsigned address) {
    return ((address & 0x3ffff) >> 4) | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

// An operand B whose sum runs down the rows of a chunk and whose columns are those of consecutive chunks, `chunk` bytes apart. `address`
// moves by 2048 bytes per 16 rows of the sum.
__device__ __forceinline__ unsigned long long down_rows(unsigned address, unsigned chunk) {
    return ((address & 0x3ffff) >> 4) | static_cast<unsigned long long>(chunk >> 4) << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

// Before the first product after registers of its operands were written.
__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING> __device__ __forceinline__ void products_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// By each thread that wrote shared memory which products read next, before the barrier between the two.
__device__ __forceinline__ void written_for_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

#define WARPGROUP_OUT(i) \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

// d (64 x N) = a b, or d += a b where `add`; both in shared memory, the sum of 16 terms. Of d, warp w and lane l hold rows
// 16 w + l / 4 (elements 4 j and 4 j + 1) and 8 below (4 j + 2, 4 j + 3), columns 8 j + 2 (l % 4) and the next.
template <int N, int B_TRANSPOSED> __device__ __forceinline__ void product(float (&d)[N / 2], unsigned long long a, unsigned long long b, int add) {
    static_assert(N == 32 || N == 64 || N == 128 || N == 192 || N == 256, "a width that is written out below");
    if constexpr (N == 32) {
        asm volatile("{.reg .pred p; setp.ne.b32 p, %18, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
                     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
                     "}, %16, %17, p, 1, 1, 0, %19;}"
                     : WARPGROUP_OUT(0), WARPGROUP_OUT(8)
                     : "l"(a), "l"(b), "r"(add), "n"(B_TRANSPOSED));
    }
    else if constexpr (N == 64) {
        asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
                     "}, %32, %33, p, 1, 1, 0, %35;}"
                     : WARPGROUP_OUT(0), WARPGROUP_OUT(8), WARPGROUP_OUT(16), WARPGROUP_OUT(24)
                     : "l"(a), "l"(b), "r"(add), "n"(B_TRANSPOSED));
    }
    else if constexpr (N == 128) {
        asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                     "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                     "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                     "}, %64, %65, p, 1, 1, 0, %67;}"
                     : WARPGROUP_OUT(0), WARPGROUP_OUT(8), WARPGROUP_OUT(16), WARPGROUP_OUT(24), WARPGROUP_OUT(32), WARPGROUP_OUT(40), WARPGROUP_OUT(48), WARPGROUP_OUT(56)
                     : "l"(a), "l"(b), "r"(add), "n"(B_TRANSPOSED));
    }
    else if constexpr (N == 192) {
        asm volatile("{.reg .pred p; setp.ne.b32 p, %98, 0; wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {"
                     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                     "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                     "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                     "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                     "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
                     "}, %96, %97, p, 1, 1, 0, %99;}"
                     : WARPGROUP_OUT(0), WARPGROUP_OUT(8), WARPGROUP_OUT(16), WARPGROUP_OUT(24), WARPGROUP_OUT(32), WARPGROUP_OUT(40), WARPGROUP_OUT(48), WARPGROUP_OUT(56), WARPGROUP_OUT(64), WARPGROUP_OUT(72), WARPGROUP_OUT(80), WARPGROUP_OUT(88)
                     : "l"(a), "l"(b), "r"(add), "n"(B_TRANSPOSED));
    }
    else if constexpr (N == 256) {
        asm volatile("{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
                     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                     "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                     "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                     "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                     "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                     "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                     "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
                     "}, %128, %129, p, 1, 1, 0, %131;}"
                     : WARPGROUP_OUT(0), WARPGROUP_OUT(8), WARPGROUP_OUT(16), WARPGROUP_OUT(24), WARPGROUP_OUT(32), WARPGROUP_OUT(40), WARPGROUP_OUT(48), WARPGROUP_OUT(56), WARPGROUP_OUT(64), WARPGROUP_OUT(72), WARPGROUP_OUT(80), WARPGROUP_OUT(88), WARPGROUP_OUT(96), WARPGROUP_OUT(104), WARPGROUP_OUT(112), WARPGROUP_OUT(120)
                     : "l"(a), "l"(b), "r"(add), "n"(B_TRANSPOSED));
    }
}

// d += a b with a in registers, as `mma` has it.
template <int N, int B_TRANSPOSED> __device__ __forceinline__ void product(float (&d)[N / 2], const unsigned (&a)[4], unsigned long long b) {
    static_assert(N == 64 || N == 128 || N == 192 || N == 256, "a width that is written out below");
    if constexpr (N == 64) {
        asm volatile("{wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
                     "}, {%32, %33, %34, %35}, %36, 1, 1, 1, %37;}"
                     : WARPGROUP_OUT(0), WARPGROUP_OUT(8), WARPGROUP_OUT(16), WARPGROUP_OUT(24)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(B_TRANSPOSED));
    }
    else if constexpr (N == 128) {
        asm volatile("{wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                     "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                     "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                     "}, {%64, %65, %66, %67}, %68, 1, 1, 1, %69;}"
                     : WARPGROUP_OUT(0), WARPGROUP_OUT(8), WARPGROUP_OUT(16), WARPGROUP_OUT(24), WARPGROUP_OUT(32), WARPGROUP_OUT(40), WARPGROUP_OUT(48), WARPGROUP_OUT(56)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(B_TRANSPOSED));
    }
    else if constexpr (N == 192) {
        asm volatile("{wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {"
                     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                     "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                     "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                     "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                     "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
                     "}, {%96, %97, %98, %99}, %100, 1, 1, 1, %101;}"
                     : WARPGROUP_OUT(0), WARPGROUP_OUT(8), WARPGROUP_OUT(16), WARPGROUP_OUT(24), WARPGROUP_OUT(32), WARPGROUP_OUT(40), WARPGROUP_OUT(48), WARPGROUP_OUT(56), WARPGROUP_OUT(64), WARPGROUP_OUT(72), WARPGROUP_OUT(80), WARPGROUP_OUT(88)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(B_TRANSPOSED));
    }
    else if constexpr (N == 256) {
        asm volatile("{wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
                     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                     "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                     "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                     "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                     "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                     "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                     "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
                     "}, {%128, %129, %130, %131}, %132, 1, 1, 1, %133;}"
                     : WARPGROUP_OUT(0), WARPGROUP_OUT(8), WARPGROUP_OUT(16), WARPGROUP_OUT(24), WARPGROUP_OUT(32), WARPGROUP_OUT(40), WARPGROUP_OUT(48), WARPGROUP_OUT(56), WARPGROUP_OUT(64), WARPGROUP_OUT(72), WARPGROUP_OUT(80), WARPGROUP_OUT(88), WARPGROUP_OUT(96), WARPGROUP_OUT(104), WARPGROUP_OUT(112), WARPGROUP_OUT(120)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(B_TRANSPOSED));
    }
}
#undef WARPGROUP_OUT
