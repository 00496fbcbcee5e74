// Tensor cores through wgmma: products of a warpgroup's 64 rows, with operands in shared memory under the 128-byte swizzle.
#pragma once
#include "mma.cuh"

// Shared memory holds operands in chunks of 64 bf16 columns. A row of a chunk is 128 bytes, in which the 16-byte unit u of row r lies
// at u ^ (r % 8); chunks start at multiples of 1024 bytes. The same bytes serve as an operand whose sum runs along a row (keys) and as
// one whose sum runs down the rows (values).
constexpr int CHUNK = 64, CHUNK_ROW_BYTES = 128, CHUNK_ALIGNMENT = 1024;

// The byte at which the 16-byte unit `unit` of row `row` lies, in chunks of `rows` rows.
__device__ __forceinline__ unsigned swizzled(unsigned rows, unsigned row, unsigned unit) {
    return (unit / 8) * rows * CHUNK_ROW_BYTES + row * CHUNK_ROW_BYTES + ((unit % 8 ^ row % 8) * 16);
}

// What tells wgmma where an operand lies: its address, the stride from one chunk to the next where columns are the outer index of the
// instruction, and 1024 bytes from 8 rows to the next 8.
__device__ __forceinline__ unsigned long long operand(unsigned address, unsigned chunk_bytes) {
    constexpr unsigned long long SWIZZLE_128 = 1ull << 62, EIGHT_ROWS = static_cast<unsigned long long>(8 * CHUNK_ROW_BYTES / 16) << 32;
    unsigned long long operand = SWIZZLE_128 | EIGHT_ROWS | static_cast<unsigned long long>((chunk_bytes & 0x3ffff) >> 4) << 16 | ((address & 0x3ffff) >> 4);
    // What is computed from it is computed at its use: dozens of operands kept across a loop would take as many registers.
    asm volatile("" : "+l"(operand));
    return operand;
}

// The same operand some bytes further on in shared memory.
__device__ __forceinline__ unsigned long long further(unsigned long long operand, unsigned bytes) { return operand + (bytes >> 4); }

// Registers that the warpgroup wrote may now be read by the products that follow.
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most PENDING committed groups are unfinished.
template <int PENDING> __device__ __forceinline__ void wait_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// Keeps the compiler from moving uses of accumulators across the start or the wait of the products that own them.
template <int LEN> __device__ __forceinline__ void hold(float (&c)[LEN]) {
#pragma unroll
    for (int i = 0; i < LEN; i++) asm volatile("" : "+f"(c[i])::"memory");
}
template <int LEN> __device__ __forceinline__ void hold(unsigned (&a)[LEN]) {
#pragma unroll
    for (int i = 0; i < LEN; i++) asm volatile("" : "+r"(a[i])::"memory");
}

// Shared memory that this thread wrote by ordinary stores or cp.async becomes visible to wgmma of whoever passes the next barrier.
__device__ __forceinline__ void publish_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

#define TENON_F4(c, i) "+f"((c)[i]), "+f"((c)[i + 1]), "+f"((c)[i + 2]), "+f"((c)[i + 3])
#define TENON_F16(c, i) TENON_F4(c, i), TENON_F4(c, i + 4), TENON_F4(c, i + 8), TENON_F4(c, i + 12)

// c (+)= a b^T over 16 columns of a [64] and b [N rows], both in shared memory, sums along rows. Warp w of the warpgroup holds rows
// 16 w ..; register i of lane l is row l / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (l % 4) + i % 2. `add` false starts from zero.
template <int N> struct KeyProduct;

template <> struct KeyProduct<32> {
    static __device__ __forceinline__ void add(float* c, unsigned long long a, unsigned long long b, int add) {
        asm volatile(
            "{ .reg .pred p; setp.ne.b32 p, %18, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
            "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
            "}, %16, %17, p, 1, 1, 0, 0; }"
            : TENON_F16(c, 0)
            : "l"(a), "l"(b), "r"(add));
    }
};

template <> struct KeyProduct<64> {
    static __device__ __forceinline__ void add(float* c, unsigned long long a, unsigned long long b, int add) {
        asm volatile(
            "{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
            "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
            "}, %32, %33, p, 1, 1, 0, 0; }"
            : TENON_F16(c, 0), TENON_F16(c, 16)
            : "l"(a), "l"(b), "r"(add));
    }
};

template <> struct KeyProduct<80> {
    static __device__ __forceinline__ void add(float* c, unsigned long long a, unsigned long long b, int add) {
        asm volatile(
            "{ .reg .pred p; setp.ne.b32 p, %42, 0; wgmma.mma_async.sync.aligned.m64n80k16.f32.bf16.bf16 {"
            "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
            "%32, %33, %34, %35, %36, %37, %38, %39"
            "}, %40, %41, p, 1, 1, 0, 0; }"
            : TENON_F16(c, 0), TENON_F16(c, 16), TENON_F4(c, 32), TENON_F4(c, 36)
            : "l"(a), "l"(b), "r"(add));
    }
};

template <> struct KeyProduct<128> {
    static __device__ __forceinline__ void add(float* c, unsigned long long a, unsigned long long b, int add) {
        asm volatile(
            "{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
            "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
            "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
            "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
            "}, %64, %65, p, 1, 1, 0, 0; }"
            : TENON_F16(c, 0), TENON_F16(c, 16), TENON_F16(c, 32), TENON_F16(c, 48)
            : "l"(a), "l"(b), "r"(add));
    }
};

// c += a b over 16 rows of b [16, N], which lies in shared memory row by row; a is in registers, as mma.sync has it.
template <int N> struct ValueProduct;

template <> struct ValueProduct<64> {
    static __device__ __forceinline__ void add(float* c, const unsigned* a, unsigned long long b) {
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
            "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
            "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
            : TENON_F16(c, 0), TENON_F16(c, 16)
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
    }
};

template <> struct ValueProduct<128> {
    static __device__ __forceinline__ void add(float* c, const unsigned* a, unsigned long long b) {
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
            "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
            "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
            "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
            "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
            : TENON_F16(c, 0), TENON_F16(c, 16), TENON_F16(c, 32), TENON_F16(c, 48)
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
    }
};

template <> struct ValueProduct<256> {
    static __device__ __forceinline__ void add(float* c, const unsigned* a, unsigned long long b) {
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
            "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
            "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
            "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
            "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
            "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
            "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
            "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
            "}, {%128, %129, %130, %131}, %132, 1, 1, 1, 1;"
            : TENON_F16(c, 0), TENON_F16(c, 16), TENON_F16(c, 32), TENON_F16(c, 48), TENON_F16(c, 64), TENON_F16(c, 80), TENON_F16(c, 96), TENON_F16(c, 112)
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
    }
};

#undef TENON_F4
#undef TENON_F16
