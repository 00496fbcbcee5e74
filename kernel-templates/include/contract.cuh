// What device code relies on, checked while it runs in the build `device-asserts` (-DTENON_DEVICE_ASSERTS), where a broken contract stops
// the kernel with its file and line. Elsewhere an assertion is no code at all. What the host may get wrong is not asserted: that is
// clamped, and sets a bit of the error word.
#pragma once

#ifdef TENON_DEVICE_ASSERTS
#undef NDEBUG
#include <cassert>
#define TENON_ASSERT(...) assert((__VA_ARGS__))

template <int BYTES> __device__ __forceinline__ bool is_aligned(const void* p) { return reinterpret_cast<unsigned long long>(p) % BYTES == 0; }

// Bytes of dynamic shared memory that the block was launched with.
__device__ __forceinline__ unsigned dynamic_shared_bytes() {
    unsigned bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return bytes;
}

__device__ __forceinline__ unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
#else
#define TENON_ASSERT(...)
#endif
