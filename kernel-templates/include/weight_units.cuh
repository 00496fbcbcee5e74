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

// The pairs of run j are pairs[4 j ..]. Weights from `in` on are zeros, whatever pads the row. WHOLE: `in` is a multiple of 8.
template <class F, bool WHOLE>
__device__ __forceinline__ void decode_unit(const WeightUnit<F>& of, int in, int piece, int unit, unsigned (&pairs)[16]) {
    using P = Planes<F>;
    constexpr int SEGMENTS = 32 / P::SEGMENT, PAIRS = P::SEGMENT / 2;
#pragma unroll
    for (int s = 0; s < SEGMENTS; s++) {
        unsigned some[PAIRS];
        segment_pairs<F>(of.raw[s / P::SEGMENTS], s % P::SEGMENTS, some);
#pragma unroll
        for (int i = 0; i < PAIRS; i++) pairs[PAIRS * s + i] = some[i];
    }
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
