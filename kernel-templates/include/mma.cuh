// Tensor cores through mma.sync, and the copies that feed them from shared memory.
#pragma once
#include "contract.cuh"
#include "types.cuh"

__device__ __forceinline__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// Four 8 x 8 matrices of bf16: lane i gives the address of row i % 8 of matrix i / 8.
__device__ __forceinline__ void load_matrices(unsigned (&r)[4], const void* row) {
    TENON_ASSERT(is_aligned<16>(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
}

// The same, each matrix transposed.
__device__ __forceinline__ void load_matrices_transposed(unsigned (&r)[4], const void* row) {
    TENON_ASSERT(is_aligned<16>(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
}

// The way back: each lane's pairs to the rows whose addresses lanes give, as above.
__device__ __forceinline__ void store_matrices(void* row, const unsigned (&r)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

// c += a b for a 16 x 16 (row), b 16 x 8 (column), c 16 x 8. Of c, lane l holds rows l / 4 and l / 4 + 8, columns 2 (l % 4) and the next.
__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two floats as a pair of bf16, the first in the low half.
__device__ __forceinline__ unsigned pack_bf16(float low, float high) {
    __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<unsigned*>(&pair);
}

// 16 bytes from device to shared memory, in the background. Where `valid` is false, zeros are written and nothing is read.
__device__ __forceinline__ void copy_16(void* to, const void* from, bool valid = true) {
    TENON_ASSERT(is_aligned<16>(to) && is_aligned<16>(from));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(valid ? 16 : 0) : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING> __device__ __forceinline__ void wait_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }
