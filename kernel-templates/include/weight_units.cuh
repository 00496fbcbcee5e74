// Weights as fragments of tensor cores: 32 of a row at once, decoded to pairs of bf16.
//
// A row is read in pieces of 128 weights, and a piece in 4 units of 32. What lies together in memory decides which weights a unit has,
// so a product takes its activations in the same order: run j (of 4) of a unit is 8 neighbours from `run_start` on.
#pragma once
#include "planes.cuh"

// A row of a matrix: its planes, and for fp8 the scales of its blocks.
struct WeightRow {
    const unsigned char* planes;
    const float* scales;
};

// Row `row` of matrix `matrix` in a stack of matrices [out, in].
template <class F>
__device__ __forceinline__ WeightRow weight_row(const unsigned char* stack, const float* scales, int matrix, int row, int out, int in) {
    const long long at = static_cast<long long>(matrix) * out + row;
    const float* table = scales;
    if constexpr (std::is_same_v<F, fp8_e4m3>) table += static_cast<long long>(matrix) * ceil_div(out, 128) * ceil_div(in, 128);
    return {stack + at * Planes<F>::row_bytes(in), scale_row<F>(table, row, in)};
}

// A unit as it is stored: loads of the next ones are under way while one is decoded.
template <class F> struct WeightUnit {
    static constexpr int CHUNKS = 32 / Planes<F>::CHUNK;
    typename Planes<F>::Raw raw[CHUNKS];
};

// The chunk of a row that is chunk `i` of a unit. Of formats with small chunks two units alternate, so that neighbouring lanes read
// whole sectors; a run of 8 stays together.
template <class F> __device__ __forceinline__ int chunk_of(int piece, int unit, int i) {
    constexpr int CHUNK = Planes<F>::CHUNK, RUN = CHUNK < 8 ? 8 / CHUNK : 1;
    return 128 / CHUNK * piece + 64 / CHUNK * (unit / 2) + 2 * RUN * (i / RUN) + RUN * (unit % 2) + i % RUN;
}

// The first weight of run j of a unit.
template <class F> __device__ __forceinline__ int run_start(int piece, int unit, int j) {
    constexpr int CHUNK = Planes<F>::CHUNK, SEGMENT = Planes<F>::SEGMENT;
    return Planes<F>::start(chunk_of<F>(piece, unit, 8 * j / CHUNK), 8 * j % CHUNK / SEGMENT) + 8 * j % CHUNK % SEGMENT;
}

// Nothing outside of the row is read: chunks from `in` on are left as they are declared, finite.
template <class F> __device__ __forceinline__ void load_unit(WeightUnit<F>& of, const WeightRow& row, int in, int piece, int unit) {
#pragma unroll
    for (int i = 0; i < WeightUnit<F>::CHUNKS; i++) {
        const int chunk = chunk_of<F>(piece, unit, i);
        of.raw[i] = {};
        if (Planes<F>::start(chunk, 0) < in) of.raw[i] = Planes<F>::load(row.planes, in, chunk, row.scales);
    }
}

__device__ __forceinline__ void prefetch(const unsigned char* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

// Asks the second-level cache for the first plane of a unit, together with the lane that has the neighbouring unit.
template <class F> __device__ __forceinline__ void prefetch_unit(const WeightRow& row, int in, int piece, int unit) {
#pragma unroll
    for (int i = 0; i < WeightUnit<F>::CHUNKS; i += 2) {
        if (i + unit % 2 >= WeightUnit<F>::CHUNKS) continue;
        const int chunk = chunk_of<F>(piece, unit, i + unit % 2);
        if (Planes<F>::start(chunk, 0) < in) prefetch(row.planes + 16 * chunk);
    }
}

// The same for all other planes of a row, of which this is one of `lanes` lanes.
template <class F> __device__ __forceinline__ void prefetch_scales(const WeightRow& row, int in, int lane, int lanes) {
    const int end = Planes<F>::row_bytes(in);
    for (int at = Planes<F>::second(in) + 128 * lane; at < end; at += 128 * lanes) prefetch(row.planes + at);
}

// Four quants of 4 bits, one per byte, to q * scale + shift. A byte under the exponent of 128 is the float 128 + q, so `shift` is what is
// added less 128 scales: one operation fewer than by `floats_of_bytes`, and decoding is what bounds formats of few bytes.
__device__ __forceinline__ void pairs_of_bytes(unsigned bytes, float scale, float shift, unsigned* pairs) {
    const float q0 = __uint_as_float(__byte_perm(bytes, 0x43000000u, 0x7044)), q1 = __uint_as_float(__byte_perm(bytes, 0x43000000u, 0x7144));
    const float q2 = __uint_as_float(__byte_perm(bytes, 0x43000000u, 0x7244)), q3 = __uint_as_float(__byte_perm(bytes, 0x43000000u, 0x7344));
    pairs[0] = pack_bf16(fmaf(q0, scale, shift), fmaf(q1, scale, shift));
    pairs[1] = pack_bf16(fmaf(q2, scale, shift), fmaf(q3, scale, shift));
}

// The magnitudes of four E2M1, of which each has 4 bits of `four`, as high and low bytes of bf16: looked up by their lower 3 bits.
__device__ __forceinline__ void e2m1_magnitudes(unsigned four, unsigned& high, unsigned& low) {
    high = __byte_perm(0x3f3f3f00u, 0x40404040u, four & 0x7777);
    low = __byte_perm(0xc0800000u, 0xc0804000u, four & 0x7777);
}
// Two bf16 times a scale that is in both halves. E2M1 times E4M3 or a power of two is exact.
__device__ __forceinline__ unsigned scaled_pair(unsigned pair, unsigned scales) {
    const __nv_bfloat162 product = __hmul2(*reinterpret_cast<__nv_bfloat162*>(&pair), *reinterpret_cast<__nv_bfloat162*>(&scales));
    return *reinterpret_cast<const unsigned*>(&product);
}
// Eight E2M1 in a word to pairs: HALVES of a block, of which the low bits of all bytes come before the high ones (`pairs` and `later`), or
// neighbours (all to `pairs`).
template <bool HALVES> __device__ __forceinline__ void pairs_of_e2m1(unsigned word, unsigned scales, unsigned* pairs, unsigned* later) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const unsigned four = i == 0 ? word : word >> 16;
        unsigned high, low;
        e2m1_magnitudes(four, high, low);
        // Signs are the highest bits of the nibbles.
        if constexpr (HALVES) {
            const unsigned bytes = __byte_perm(four, 0, 0x1404);
            pairs[i] = scaled_pair(__byte_perm(low, high, 0x6240) | (bytes << 4 & 0x80008000u), scales);
            later[i] = scaled_pair(__byte_perm(low, high, 0x7351) | (bytes & 0x80008000u), scales);
        } else {
            const unsigned first = __byte_perm(four, 0, 0x0404), second = __byte_perm(four, 0, 0x1414);
            pairs[2 * i] = scaled_pair(__byte_perm(low, high, 0x5140) | (first << 4 & 0x8000u) | (first & 0x80000000u), scales);
            pairs[2 * i + 1] = scaled_pair(__byte_perm(low, high, 0x7362) | (second << 4 & 0x8000u) | (second & 0x80000000u), scales);
        }
    }
}

// All of a unit's weights as pairs, in the order of its segments.
template <class F> __device__ __forceinline__ void unit_pairs(const WeightUnit<F>& of, unsigned (&pairs)[16]) {
    using P = Planes<F>;
    if constexpr (std::is_same_v<F, q4_0> || std::is_same_v<F, q4_1> || std::is_same_v<F, q4_k>) {
        const uint4 q = of.raw[0].q;
        const unsigned words[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
        for (int segment = 0; segment < 2; segment++) {
            constexpr float ZERO = std::is_same_v<F, q4_0> ? 136.0f : 128.0f;
            const float scale = P::scale(of.raw[0], segment), shift = P::offset(of.raw[0], segment) - ZERO * scale;
#pragma unroll
            for (int i = 0; i < 4; i++) pairs_of_bytes(nibbles(words[i], segment), scale, shift, pairs + 8 * segment + 2 * i);
        }
    } else if constexpr (std::is_same_v<F, mxfp4> || std::is_same_v<F, nvfp4>) {
        constexpr bool HALVES = std::is_same_v<F, mxfp4>;
        const uint4 q = of.raw[0].q;
        const unsigned words[4] = {q.x, q.y, q.z, q.w};
        const float first = P::scale(of.raw[0], 0), second = P::scale(of.raw[0], 1);
        const unsigned scales[2] = {pack_bf16(first, first), pack_bf16(second, second)};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if constexpr (HALVES) pairs_of_e2m1<true>(words[i], scales[0], pairs + 2 * i, pairs + 8 + 2 * i);
            else pairs_of_e2m1<false>(words[i], scales[i / 2], pairs + 4 * i, nullptr);
        }
    } else {
        constexpr int PAIRS = P::SEGMENT / 2;
#pragma unroll
        for (int s = 0; s < 16 / PAIRS; s++) {
            unsigned some[PAIRS];
            segment_pairs<F>(of.raw[s / P::SEGMENTS], s % P::SEGMENTS, some);
#pragma unroll
            for (int i = 0; i < PAIRS; i++) pairs[PAIRS * s + i] = some[i];
        }
    }
}

// The pairs of run j are pairs[4 j ..]. Weights from `in` on are zeros, whatever pads the row. WHOLE: `in` is a multiple of 8.
template <class F, bool WHOLE>
__device__ __forceinline__ void decode_unit(const WeightUnit<F>& of, int in, int piece, int unit, unsigned (&pairs)[16]) {
    using P = Planes<F>;
    unit_pairs<F>(of, pairs);
    // Blocks of 32 and more end with a unit. Of the others a chunk can reach over the end.
    constexpr bool REACHES = P::BLOCK < P::CHUNK;
    if constexpr (REACHES && (!WHOLE || P::CHUNK > 8)) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int left = in - run_start<F>(piece, unit, j);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                if (left <= 2 * i) pairs[4 * j + i] = 0;
                else if (!WHOLE && left == 2 * i + 1) pairs[4 * j + i] &= 0xffff;
            }
        }
    }
}

// 8 activations from k on as pairs, zeros from `in` on. WHOLE: `in` is a multiple of 8, so that rows of activations are aligned.
template <bool WHOLE> __device__ __forceinline__ uint4 load_run(const bf16* row, int k, int in) {
    uint4 run = make_uint4(0, 0, 0, 0);
    if constexpr (WHOLE) {
        // Volatile, so that it stays where it is written: moved up, the loads of several pieces would not fit in registers.
        if (k < in) {
            asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(run.x), "=r"(run.y), "=r"(run.z), "=r"(run.w) : "l"(row + k));
        }
    } else {
        unsigned at[8];
#pragma unroll
        for (int i = 0; i < 8; i++) at[i] = k + i < in ? __bfloat16_as_ushort(row[k + i]) : 0;
        run = make_uint4(at[0] | at[1] << 16, at[2] | at[3] << 16, at[4] | at[5] << 16, at[6] | at[7] << 16);
    }
    return run;
}
