// Stored weights of 8 bits and fewer as floats: what the decoders of `planes.cuh` are made of.
#pragma once
#include "contract.cuh"
#include "types.cuh"

// Weights are read once per step: they pass the first-level cache by.
__device__ __forceinline__ uint4 stream_16(const void* p) {
    TENON_ASSERT(is_aligned<16>(p));
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
// What several lanes of a warp read, and scales, of which one load uses a part of a line.
__device__ __forceinline__ uint4 cached_16(const void* p) { return __ldg(static_cast<const uint4*>(p)); }
__device__ __forceinline__ uint2 cached_8(const void* p) { return __ldg(static_cast<const uint2*>(p)); }
__device__ __forceinline__ unsigned cached_4(const void* p) { return __ldg(static_cast<const unsigned*>(p)); }
__device__ __forceinline__ unsigned cached_2(const void* p) { return __ldg(static_cast<const unsigned short*>(p)); }
__device__ __forceinline__ unsigned cached_1(const void* p) { return __ldg(static_cast<const unsigned char*>(p)); }

__device__ __forceinline__ float float_of_half(unsigned bits) { return __half2float(__ushort_as_half(static_cast<unsigned short>(bits))); }
__device__ __forceinline__ float float_of_e4m3(unsigned byte) {
    fp8_e4m3 value;
    value.__x = static_cast<__nv_fp8_storage_t>(byte);
    return static_cast<float>(value);
}
__device__ __forceinline__ float2 floats_of_halves(unsigned pair) { return __half22float2(*reinterpret_cast<__half2*>(&pair)); }

// 2^(s - 127), and 0 where that is under 2^-124.
__device__ __forceinline__ float power_of_two(unsigned s) { return s < 3 ? 0.0f : __uint_as_float(s << 23); }

// Four bytes, each less `OFF`. A byte in the last bits of 2^23 is 2^23 + byte, so no conversion is needed and the result is exact.
template <int OFF> __device__ __forceinline__ void floats_of_bytes(unsigned bytes, float* w) {
    constexpr float BASE = 8388608.0f + OFF;
    w[0] = __uint_as_float(__byte_perm(bytes, 0x4b000000u, 0x7440)) - BASE;
    w[1] = __uint_as_float(__byte_perm(bytes, 0x4b000000u, 0x7441)) - BASE;
    w[2] = __uint_as_float(__byte_perm(bytes, 0x4b000000u, 0x7442)) - BASE;
    w[3] = __uint_as_float(__byte_perm(bytes, 0x4b000000u, 0x7443)) - BASE;
}

// Arithmetic of pairs of bf16.
__device__ __forceinline__ unsigned subtract_pairs(unsigned a, unsigned b) {
    __nv_bfloat162 d = __hsub2(*reinterpret_cast<__nv_bfloat162*>(&a), *reinterpret_cast<__nv_bfloat162*>(&b));
    return *reinterpret_cast<unsigned*>(&d);
}
__device__ __forceinline__ unsigned multiply_pairs(unsigned a, unsigned b) {
    __nv_bfloat162 p = __hmul2(*reinterpret_cast<__nv_bfloat162*>(&a), *reinterpret_cast<__nv_bfloat162*>(&b));
    return *reinterpret_cast<unsigned*>(&p);
}

// Four quants as two pairs of bf16, exactly: bytes 0 and 2, bytes 1 and 3. A number below 128 in the last bits of 128 is 128 + that number.
__device__ __forceinline__ unsigned and_or(unsigned a, unsigned b, unsigned c) { unsigned d; asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d; }
template <int OFF> __device__ __forceinline__ void pairs_of_bytes(unsigned bytes, unsigned* pairs) {
    constexpr unsigned BASE = 0x43004300u, ZERO = BASE + OFF * 0x00010001u;
    pairs[0] = subtract_pairs(and_or(bytes, 0x007f007fu, BASE), ZERO);
    pairs[1] = subtract_pairs(and_or(bytes >> 8, 0x007f007fu, BASE), ZERO);
}
template <int OFF> __device__ __forceinline__ void pairs_of_nibbles(unsigned bytes, int high, unsigned* pairs) {
    constexpr unsigned BASE = 0x43004300u, ZERO = BASE + OFF * 0x00010001u;
    pairs[0] = subtract_pairs(and_or(high ? bytes >> 4 : bytes, 0x000f000fu, BASE), ZERO);
    pairs[1] = subtract_pairs(and_or(high ? bytes >> 12 : bytes >> 8, 0x000f000fu, BASE), ZERO);
}
// The same of signed bytes: a set sign makes 256 of the 128 that is subtracted.
__device__ __forceinline__ void pairs_of_signed_bytes(unsigned bytes, unsigned* pairs) {
    constexpr unsigned BASE = 0x43004300u;
#pragma unroll
    for (int i = 0; i < 2; i++, bytes >>= 8) pairs[i] = subtract_pairs((bytes & 0x007f007fu) | BASE, (bytes & 0x00800080u) | BASE);
}
// The same of E4M3, whose bits are the high ones of a bf16 that is 2^-120 of it.
__device__ __forceinline__ void pairs_of_e4m3(unsigned bytes, unsigned* pairs) {
    constexpr unsigned UP = 0x7b807b80u;
    pairs[0] = multiply_pairs((bytes << 8 & 0x80008000u) | (bytes << 4 & 0x07f007f0u), UP);
    pairs[1] = multiply_pairs((bytes & 0x80008000u) | (bytes >> 4 & 0x07f007f0u), UP);
}
// E2M1 in nibble `N` of each half of a word, as the bits of a pair that is 2^-126 of it, and as that pair.
// One multiplication puts the sign where it belongs and the rest where it belongs.
template <int N> __device__ __forceinline__ unsigned bits_of_e2m1(unsigned halves) {
    constexpr int UP = 4 * (N % 2);
    return ((N < 2 ? halves : halves >> 8) & (0x000f000fu << UP)) * (0x1040u >> UP) & 0x81c081c0u;
}
template <int N> __device__ __forceinline__ unsigned pair_of_e2m1(unsigned halves) { return multiply_pairs(bits_of_e2m1<N>(halves), 0x7e807e80u); }

// The low nibbles of four bytes, or the high ones.
__device__ __forceinline__ unsigned nibbles(unsigned bytes, int high) { return (high ? bytes >> 4 : bytes) & 0x0f0f0f0fu; }

// Four bits as bit 4 of four bytes.
__device__ __forceinline__ unsigned fifth_bits(unsigned bits) { return ((bits & 15) * 0x02040810u) & 0x10101010u; }

// E2M1 in the low or high nibbles of four bytes, as the high bytes of four halves that are 2^-14 of it: exponents of half are 14 higher.
__device__ __forceinline__ unsigned e2m1_bytes(unsigned bytes, int high) {
    return high ? (bytes & 0x80808080u) | (bytes >> 3 & 0x0e0e0e0eu) : (bytes << 4 & 0x80808080u) | (bytes << 1 & 0x0e0e0e0eu);
}
// Four floats of them. The product is exact.
__device__ __forceinline__ void floats_of_e2m1(unsigned bytes, float* w) {
    const __half2 up = __float2half2_rn(16384.0f);
    unsigned low = __byte_perm(bytes, 0, 0x1404), high = __byte_perm(bytes, 0, 0x3424);
    float2 a = __half22float2(__hmul2(*reinterpret_cast<__half2*>(&low), up));
    float2 b = __half22float2(__hmul2(*reinterpret_cast<__half2*>(&high), up));
    w[0] = a.x, w[1] = a.y, w[2] = b.x, w[3] = b.y;
}
// Four floats of E4M3.
__device__ __forceinline__ void floats_of_e4m3(unsigned bytes, float* w) {
    __half2_raw low = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(bytes & 0xffff), __NV_E4M3);
    __half2_raw high = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(bytes >> 16), __NV_E4M3);
    float2 a = __half22float2(__half2(low)), b = __half22float2(__half2(high));
    w[0] = a.x, w[1] = a.y, w[2] = b.x, w[3] = b.y;
}

// Byte `i` of a vector, where `i` is known when compiling or the vector is small.
__device__ __forceinline__ unsigned byte_of(uint2 v, int i) { return (i < 4 ? v.x : v.y) >> (8 * (i & 3)) & 255; }

// The 6-bit scale and minimum of group `g` of 8 in a block's 16 bytes, of which the first 4 are d and dmin (`get_scale_min_k4` of ggml).
__device__ __forceinline__ void scale_and_minimum(uint4 block, int g, float& scale, float& minimum) {
    // Bytes g & 3 of the three words; which of them count depends on the half that the group is in.
    int shift = 8 * (g & 3);
    unsigned a = block.y >> shift & 255, b = block.z >> shift & 255, c = block.w >> shift & 255;
    unsigned s = g < 4 ? a & 63 : (c & 15) | (a >> 6) << 4;
    unsigned m = g < 4 ? b & 63 : (c >> 4) | (b >> 6) << 4;
    scale = float_of_half(block.x & 0xffff) * static_cast<float>(s);
    minimum = float_of_half(block.x >> 16) * static_cast<float>(m);
}
