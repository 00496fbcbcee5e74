// Latents of the paged cache [pages, page_size, rank + rope], and the spans of a step by phase.
#pragma once
#include "mma.cuh"
#include "step.cuh"
#include "types.cuh"
#include "warp.cuh"

// Which rows a kernel serves: those of spans of several tokens, of one token, or both. Forms of latent attention may differ by phase,
// and what one has written the other must keep.
struct phase_prefill {
    static constexpr bool DECODE = false;
    static __device__ bool has(int length) { return length > 1; }
};
struct phase_decode {
    static constexpr bool DECODE = true;
    static __device__ bool has(int length) { return length == 1; }
};
struct phase_all {
    static __device__ bool has(int) { return true; }
};

template <class Phase> __device__ __forceinline__ bool serves(const Step& step, int row, int rows) {
    if (row >= rows) return false;
    int sequence = step.sequence[row];
    return sequence >= 0 && Phase::has(step.length[sequence]);
}

// Span i of a phase: its sequence, or -1.
template <class Phase> __device__ __forceinline__ int span_of(const Step& step, int i) {
    if (i >= step.counts[Phase::DECODE ? COUNT_DECODE : COUNT_PREFILL]) return -1;
    return Phase::DECODE ? step.decode[i] : step.prefill[i];
}

// The tokens that the last token of a span sees, itself included.
__device__ __forceinline__ int context_of(const Step& step, int sequence) { return sequence < 0 ? 0 : step.start[sequence] + step.length[sequence]; }

// The latent of a position.
template <class Kv> __device__ __forceinline__ const Kv* latent_of(const Step& step, const void* cache, int sequence, int position, int dim) {
    long long page = page_of(step, sequence, position);
    return static_cast<const Kv*>(cache) + (page * step.page_size + position % step.page_size) * dim;
}

// Positions that one pass of an attention kernel over the latents takes.
constexpr int LATENT_TILE = 64;

// The context of a decode span in parts of whole tiles, one a block. Every part has tiles.
struct Parts {
    int tiles, per_part, parts;
};
__device__ __forceinline__ Parts parts_of(int context, int kv_splits) {
    TENON_ASSERT(context > 0 && kv_splits > 0);
    int tiles = ceil_div(context, LATENT_TILE), per_part = ceil_div(tiles, kv_splits);
    return {tiles, per_part, ceil_div(tiles, per_part)};
}

constexpr float LOG2_E = 1.4426950408889634f;

// 2^x, off by 2 units in the last place; 0 at -infinity.
__device__ __forceinline__ float exp2_of(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// The largest of, and the sum over, the four lanes that share a row of an accumulator.
__device__ __forceinline__ float row_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}
__device__ __forceinline__ float row_sum(float x) {
    x += __shfl_xor_sync(0xffffffff, x, 1);
    return x + __shfl_xor_sync(0xffffffff, x, 2);
}

// Four E4M3 as four bf16, exactly: exponent and mantissa move to where bf16 has them, and 2^120 makes up for the bias; subnormals too.
// The two NaNs become +-480: appending has made them of a NaN that its own step reports.
__device__ __forceinline__ uint2 bf16_of_e4m3(unsigned four) {
    unsigned pairs[2] = {__byte_perm(four, 0, 0x1404), __byte_perm(four, 0, 0x3424)};
#pragma unroll
    for (unsigned& pair : pairs) {
        pair = (pair & 0x80008000u) | ((pair & 0x7f007f00u) >> 4);
        asm("mul.rn.bf16x2 %0, %0, %1;" : "+r"(pair) : "r"(0x7b807b80));
    }
    return {pairs[0], pairs[1]};
}

// Eight elements of a cache as bf16.
__device__ __forceinline__ uint4 eight_bf16(const bf16* from) { return *reinterpret_cast<const uint4*>(from); }
__device__ __forceinline__ uint4 eight_bf16(const fp8_e4m3* from) {
    uint2 raw = *reinterpret_cast<const uint2*>(from), low = bf16_of_e4m3(raw.x), high = bf16_of_e4m3(raw.y);
    return {low.x, low.y, high.x, high.y};
}

// 8 bytes from device to shared memory, in the background; zeros where not `valid`.
__device__ __forceinline__ void copy_8(void* to, const void* from, bool valid) {
    TENON_ASSERT(is_aligned<8>(to) && is_aligned<8>(from));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(to)), "l"(from), "r"(valid ? 8 : 0) : "memory");
}
