// Weights on the device: rows of planes, and decoders of all storage formats, by chunk (vectors) and by element.
//
// A matrix is `out` rows of `row_bytes(in)`. A row is the planes of its format, each padded to 16 bytes; a plane holds the same bytes
// of every stored block of the row. A lane decodes one chunk at a time: SEGMENTS runs of SEGMENT neighbours, of which a weight is
// scale * w + offset (times the matrix's factor).
#pragma once
#include <type_traits>
#include "mma.cuh"
#include "stored.cuh"

// Names of the formats that are no C++ types already.
struct q4_0; struct q4_1; struct q5_0; struct q5_1; struct q8_0; struct q4_k; struct q5_k; struct q6_k; struct nvfp4; struct mxfp4;

// Where the planes of a row lie: blocks of BLOCK elements, and the bytes that each plane has of a block.
template <int BLOCK_LEN, int A, int B = 0, int C = 0, int D = 0> struct PlaneOffsets {
    static constexpr int BLOCK = BLOCK_LEN;
    __host__ __device__ static constexpr int second(int in) { return round_up(A * (in / BLOCK), 16); }
    __host__ __device__ static constexpr int third(int in) { return second(in) + round_up(B * (in / BLOCK), 16); }
    __host__ __device__ static constexpr int fourth(int in) { return third(in) + round_up(C * (in / BLOCK), 16); }
    __host__ __device__ static constexpr int row_bytes(int in) { return fourth(in) + round_up(D * (in / BLOCK), 16); }
};

// Of a format: CHUNK, SEGMENTS, SEGMENT; SCALED and OFFSET say whether a weight has those; `Raw` is a chunk in registers, which
// `load` fills (a Raw{} is finite weights); `start` is the first element of a segment. `scales` is the row of the table that
// fp8 has apart, one per 128 columns; other formats do not read it. Where weights are SCALED, `pairs` are the quants of a segment as
// bf16, exactly, in the order in which they are cheapest: of every 2 * APART neighbours, the first with the one APART behind it, and so on.
// Where quants times scales are exact in bf16 too (EXACT), `weights` are these of all segments, in the same order and less the factor WEIGHTS.
template <class F> struct Planes;

// What floats have in common: no scales, one segment.
template <int LEN, int BYTES> struct FloatPlanes : PlaneOffsets<1, BYTES> {
    static constexpr int CHUNK = LEN, SEGMENTS = 1, SEGMENT = LEN;
    static constexpr bool SCALED = false, OFFSET = false, EXACT = false;
    struct Raw { uint4 q = {}; };
    __device__ static Raw load(const unsigned char* row, int, int chunk, const float*) { return {stream_16(row + 16 * chunk)}; }
    __device__ static int start(int chunk, int) { return LEN * chunk; }
    __device__ static float scale(const Raw&, int) { return 1.0f; }
    __device__ static float offset(const Raw&, int) { return 0.0f; }
};
template <> struct Planes<f32> : FloatPlanes<4, 4> {
    __device__ static void decode(const Raw& r, int, float (&w)[4]) {
        w[0] = __uint_as_float(r.q.x), w[1] = __uint_as_float(r.q.y), w[2] = __uint_as_float(r.q.z), w[3] = __uint_as_float(r.q.w);
    }
    __device__ static float element(const unsigned char* row, int, int k, const float*) { return reinterpret_cast<const float*>(row)[k]; }
};
template <> struct Planes<f16> : FloatPlanes<8, 2> {
    __device__ static void decode(const Raw& r, int, float (&w)[8]) {
        float2 a = floats_of_halves(r.q.x), b = floats_of_halves(r.q.y), c = floats_of_halves(r.q.z), d = floats_of_halves(r.q.w);
        w[0] = a.x, w[1] = a.y, w[2] = b.x, w[3] = b.y, w[4] = c.x, w[5] = c.y, w[6] = d.x, w[7] = d.y;
    }
    __device__ static float element(const unsigned char* row, int, int k, const float*) { return float_of_half(cached_2(row + 2 * k)); }
};
template <> struct Planes<bf16> : FloatPlanes<8, 2> {
    __device__ static void decode(const Raw& r, int, float (&w)[8]) {
        const unsigned q[4] = {r.q.x, r.q.y, r.q.z, r.q.w};
#pragma unroll
        for (int i = 0; i < 4; i++) w[2 * i] = __uint_as_float(q[i] << 16), w[2 * i + 1] = __uint_as_float(q[i] & 0xffff0000u);
    }
    __device__ static float element(const unsigned char* row, int, int k, const float*) { return __uint_as_float(cached_2(row + 2 * k) << 16); }
};

template <> struct Planes<fp8_e4m3> : PlaneOffsets<1, 1> {
    static constexpr int CHUNK = 16, SEGMENTS = 1, SEGMENT = 16;
    static constexpr bool SCALED = true, OFFSET = false, EXACT = false;
    struct Raw { uint4 q = {}; float d = 0.0f; };
    __device__ static Raw load(const unsigned char* row, int, int chunk, const float* scales) {
        return {stream_16(row + 16 * chunk), __ldg(scales + chunk / 8)};
    }
    __device__ static int start(int chunk, int) { return 16 * chunk; }
    __device__ static float scale(const Raw& r, int) { return r.d; }
    __device__ static float offset(const Raw&, int) { return 0.0f; }
    __device__ static void decode(const Raw& r, int, float (&w)[16]) {
        floats_of_e4m3(r.q.x, w), floats_of_e4m3(r.q.y, w + 4), floats_of_e4m3(r.q.z, w + 8), floats_of_e4m3(r.q.w, w + 12);
    }
    static constexpr int APART = 2;
    __device__ static void pairs(const Raw& r, int, unsigned (&pairs)[8]) {
        pairs_of_e4m3(r.q.x, pairs), pairs_of_e4m3(r.q.y, pairs + 2), pairs_of_e4m3(r.q.z, pairs + 4), pairs_of_e4m3(r.q.w, pairs + 6);
    }
    __device__ static float element(const unsigned char* row, int, int k, const float* scales) {
        return float_of_e4m3(cached_1(row + k)) * __ldg(scales + k / 128);
    }
};

template <> struct Planes<q8_0> : PlaneOffsets<32, 32, 2> {
    static constexpr int CHUNK = 16, SEGMENTS = 1, SEGMENT = 16;
    static constexpr bool SCALED = true, OFFSET = false, EXACT = false;
    struct Raw { uint4 q = {}; unsigned d = 0; };
    __device__ static Raw load(const unsigned char* row, int in, int chunk, const float*) {
        return {stream_16(row + 16 * chunk), cached_2(row + second(in) + 2 * (chunk / 2))};
    }
    __device__ static int start(int chunk, int) { return 16 * chunk; }
    __device__ static float scale(const Raw& r, int) { return float_of_half(r.d); }
    __device__ static float offset(const Raw&, int) { return 0.0f; }
    __device__ static void decode(const Raw& r, int, float (&w)[16]) {
        const unsigned q[4] = {r.q.x, r.q.y, r.q.z, r.q.w};
#pragma unroll
        for (int i = 0; i < 4; i++) floats_of_bytes<128>(q[i] ^ 0x80808080u, w + 4 * i);
    }
    static constexpr int APART = 2;
    __device__ static void pairs(const Raw& r, int, unsigned (&pairs)[8]) {
        const unsigned q[4] = {r.q.x, r.q.y, r.q.z, r.q.w};
#pragma unroll
        for (int i = 0; i < 4; i++) pairs_of_signed_bytes(q[i], pairs + 2 * i);
    }
    __device__ static float element(const unsigned char* row, int in, int k, const float*) {
        return float_of_half(cached_2(row + second(in) + 2 * (k / 32))) * static_cast<float>(static_cast<signed char>(cached_1(row + k)));
    }
};

// Blocks of 32 quants in nibbles, halves of the block in a byte, with one scale; D_BYTES is 4 where a minimum follows the scale; a
// fifth bit is in a plane of words.
template <int D_BYTES, bool FIFTH, int ZERO> struct NibblePlanes : PlaneOffsets<32, 16, FIFTH ? 4 : D_BYTES, FIFTH ? D_BYTES : 0> {
    using Base = PlaneOffsets<32, 16, FIFTH ? 4 : D_BYTES, FIFTH ? D_BYTES : 0>;
    static constexpr int CHUNK = 32, SEGMENTS = 2, SEGMENT = 16;
    static constexpr bool SCALED = true, OFFSET = D_BYTES == 4, EXACT = false;
    struct Raw { uint4 q = {}; unsigned d = 0, high = 0; };
    __device__ static unsigned scales_of(const unsigned char* row, int in, int block) {
        const unsigned char* at = row + (FIFTH ? Base::third(in) : Base::second(in)) + D_BYTES * block;
        return D_BYTES == 4 ? cached_4(at) : cached_2(at);
    }
    __device__ static Raw load(const unsigned char* row, int in, int chunk, const float*) {
        return {stream_16(row + 16 * chunk), scales_of(row, in, chunk), FIFTH ? cached_4(row + Base::second(in) + 4 * chunk) : 0u};
    }
    __device__ static int start(int chunk, int segment) { return 32 * chunk + 16 * segment; }
    __device__ static float scale(const Raw& r, int) { return float_of_half(r.d & 0xffff); }
    __device__ static float offset(const Raw& r, int) { return OFFSET ? float_of_half(r.d >> 16) : 0.0f; }
    __device__ static unsigned bytes(const Raw& r, int segment, int i) {
        const unsigned q[4] = {r.q.x, r.q.y, r.q.z, r.q.w};
        unsigned bytes = nibbles(q[i], segment);
        if constexpr (FIFTH) bytes |= fifth_bits(r.high >> (16 * segment + 4 * i));
        return bytes;
    }
    __device__ static void decode(const Raw& r, int segment, float (&w)[16]) {
#pragma unroll
        for (int i = 0; i < 4; i++) floats_of_bytes<ZERO>(bytes(r, segment, i), w + 4 * i);
    }
    static constexpr int APART = 2;
    __device__ static void pairs(const Raw& r, int segment, unsigned (&pairs)[8]) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if constexpr (FIFTH) pairs_of_bytes<ZERO>(bytes(r, segment, i), pairs + 2 * i);
            else pairs_of_nibbles<ZERO>(i == 0 ? r.q.x : i == 1 ? r.q.y : i == 2 ? r.q.z : r.q.w, segment, pairs + 2 * i);
        }
    }
    __device__ static float element(const unsigned char* row, int in, int k, const float*) {
        int block = k / 32, l = k % 32;
        unsigned q = cached_1(row + 16 * block + l % 16) >> (l < 16 ? 0 : 4) & 15, d = scales_of(row, in, block);
        if constexpr (FIFTH) q |= (cached_4(row + Base::second(in) + 4 * block) >> l & 1) << 4;
        float w = float_of_half(d & 0xffff) * static_cast<float>(static_cast<int>(q) - ZERO);
        return OFFSET ? w + float_of_half(d >> 16) : w;
    }
};
template <> struct Planes<q4_0> : NibblePlanes<2, false, 8> {};
template <> struct Planes<q4_1> : NibblePlanes<4, false, 0> {};
template <> struct Planes<q5_0> : NibblePlanes<2, true, 16> {};
template <> struct Planes<q5_1> : NibblePlanes<4, true, 0> {};

// Blocks of 256 in 8 groups; every 32 bytes of nibbles hold two groups. A chunk is 16 of these bytes.
template <bool FIFTH> struct GroupPlanes : PlaneOffsets<256, 128, FIFTH ? 32 : 16, FIFTH ? 16 : 0> {
    using Base = PlaneOffsets<256, 128, FIFTH ? 32 : 16, FIFTH ? 16 : 0>;
    static constexpr int CHUNK = 32, SEGMENTS = 2, SEGMENT = 16;
    static constexpr bool SCALED = true, OFFSET = true, EXACT = false;
    struct Raw { uint4 q = {}, high = {}, scales = {}; int pair = 0; };
    __device__ static uint4 scales_of(const unsigned char* row, int in, int block) {
        return cached_16(row + (FIFTH ? Base::third(in) : Base::second(in)) + 16 * block);
    }
    __device__ static Raw load(const unsigned char* row, int in, int chunk, const float*) {
        int block = chunk / 8;
        uint4 high = {};
        if constexpr (FIFTH) high = cached_16(row + Base::second(in) + 32 * block + 16 * (chunk % 2));
        return {stream_16(row + 16 * chunk), high, scales_of(row, in, block), chunk / 2 % 4};
    }
    __device__ static int start(int chunk, int segment) { return 64 * (chunk / 2) + 32 * segment + 16 * (chunk % 2); }
    __device__ static float scale(const Raw& r, int segment) {
        float scale, minimum;
        scale_and_minimum(r.scales, 2 * r.pair + segment, scale, minimum);
        return scale;
    }
    __device__ static float offset(const Raw& r, int segment) {
        float scale, minimum;
        scale_and_minimum(r.scales, 2 * r.pair + segment, scale, minimum);
        return -minimum;
    }
    __device__ static unsigned bytes(const Raw& r, int segment, int i) {
        const unsigned q[4] = {r.q.x, r.q.y, r.q.z, r.q.w}, h[4] = {r.high.x, r.high.y, r.high.z, r.high.w};
        unsigned bytes = nibbles(q[i], segment);
        if constexpr (FIFTH) bytes |= (h[i] >> (2 * r.pair + segment) & 0x01010101u) << 4;
        return bytes;
    }
    __device__ static void decode(const Raw& r, int segment, float (&w)[16]) {
#pragma unroll
        for (int i = 0; i < 4; i++) floats_of_bytes<0>(bytes(r, segment, i), w + 4 * i);
    }
    static constexpr int APART = 2;
    __device__ static void pairs(const Raw& r, int segment, unsigned (&pairs)[8]) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if constexpr (FIFTH) pairs_of_bytes<0>(bytes(r, segment, i), pairs + 2 * i);
            else pairs_of_nibbles<0>(i == 0 ? r.q.x : i == 1 ? r.q.y : i == 2 ? r.q.z : r.q.w, segment, pairs + 2 * i);
        }
    }
    __device__ static float element(const unsigned char* row, int in, int k, const float*) {
        int block = k / 256, l = k % 256, g = l / 32;
        unsigned q = cached_1(row + 128 * block + 32 * (l / 64) + l % 32) >> (4 * (g % 2)) & 15;
        if constexpr (FIFTH) q |= (cached_1(row + Base::second(in) + 32 * block + l % 32) >> g & 1) << 4;
        float scale, minimum;
        scale_and_minimum(scales_of(row, in, block), g, scale, minimum);
        return scale * static_cast<float>(q) - minimum;
    }
};
template <> struct Planes<q4_k> : GroupPlanes<false> {};
template <> struct Planes<q5_k> : GroupPlanes<true> {};

// Blocks of 256 in 16 groups. A half of 128 has 64 bytes of nibbles, the low ones before the high ones, and 32 bytes of pairs of
// bits, of which each pair serves 32 elements. A chunk is 16 bytes of nibbles.
template <> struct Planes<q6_k> : PlaneOffsets<256, 128, 64, 16, 2> {
    static constexpr int CHUNK = 32, SEGMENTS = 2, SEGMENT = 16;
    static constexpr bool SCALED = true, OFFSET = false, EXACT = false;
    struct Raw { uint4 q = {}, high = {}; uint2 scales = {}; unsigned d = 0; int at = 0; };
    __device__ static Raw load(const unsigned char* row, int in, int chunk, const float*) {
        int half = chunk / 4;
        return {stream_16(row + 16 * chunk), cached_16(row + second(in) + 32 * half + 16 * (chunk % 2)),
                cached_8(row + third(in) + 8 * half), cached_2(row + fourth(in) + 2 * (chunk / 8)), chunk % 4};
    }
    __device__ static int start(int chunk, int segment) { return 128 * (chunk / 4) + 64 * segment + 16 * (chunk % 4); }
    __device__ static float scale(const Raw& r, int segment) {
        unsigned four = segment ? r.scales.y : r.scales.x;
        return float_of_half(r.d) * static_cast<float>(static_cast<signed char>(four >> (8 * r.at)));
    }
    __device__ static float offset(const Raw&, int) { return 0.0f; }
    __device__ static unsigned bytes(const Raw& r, int segment, int i) {
        const unsigned q[4] = {r.q.x, r.q.y, r.q.z, r.q.w}, h[4] = {r.high.x, r.high.y, r.high.z, r.high.w};
        return nibbles(q[i], segment) | (h[i] >> (2 * (r.at / 2) + 4 * segment) & 0x03030303u) << 4;
    }
    __device__ static void decode(const Raw& r, int segment, float (&w)[16]) {
#pragma unroll
        for (int i = 0; i < 4; i++) floats_of_bytes<32>(bytes(r, segment, i), w + 4 * i);
    }
    static constexpr int APART = 2;
    __device__ static void pairs(const Raw& r, int segment, unsigned (&pairs)[8]) {
#pragma unroll
        for (int i = 0; i < 4; i++) pairs_of_bytes<32>(bytes(r, segment, i), pairs + 2 * i);
    }
    __device__ static float element(const unsigned char* row, int in, int k, const float*) {
        int half = k / 128, quarter = k / 32 % 4, l = k % 32;
        unsigned q = cached_1(row + 64 * half + 32 * (quarter % 2) + l) >> (4 * (quarter / 2)) & 15;
        q |= (cached_1(row + second(in) + 32 * half + l) >> (2 * quarter) & 3) << 4;
        float s = static_cast<float>(static_cast<signed char>(cached_1(row + third(in) + k / 16)));
        return float_of_half(cached_2(row + fourth(in) + 2 * (k / 256))) * s * static_cast<float>(static_cast<int>(q) - 32);
    }
};

// Two blocks of 16 make a chunk. Neighbours share a byte.
template <> struct Planes<nvfp4> : PlaneOffsets<16, 8, 1> {
    static constexpr int CHUNK = 32, SEGMENTS = 2, SEGMENT = 16;
    static constexpr bool SCALED = true, OFFSET = false, EXACT = true;
    struct Raw { uint4 q = {}; unsigned d = 0; };
    __device__ static Raw load(const unsigned char* row, int in, int chunk, const float*) {
        return {stream_16(row + 16 * chunk), cached_2(row + second(in) + 2 * chunk)};
    }
    __device__ static int start(int chunk, int segment) { return 32 * chunk + 16 * segment; }
    __device__ static float scale(const Raw& r, int segment) { return float_of_e4m3(r.d >> (8 * segment) & 255); }
    __device__ static float offset(const Raw&, int) { return 0.0f; }
    __device__ static void decode(const Raw& r, int segment, float (&w)[16]) {
        const unsigned q[2] = {segment ? r.q.z : r.q.x, segment ? r.q.w : r.q.y};
#pragma unroll
        for (int i = 0; i < 2; i++) {
            unsigned even = e2m1_bytes(q[i], 0), odd = e2m1_bytes(q[i], 1);
            floats_of_e2m1(__byte_perm(even, odd, 0x5140), w + 8 * i);
            floats_of_e2m1(__byte_perm(even, odd, 0x7362), w + 8 * i + 4);
        }
    }
    // The nibbles of a word are 8 neighbours, and those of its halves lie 4 apart.
    static constexpr int APART = 4;
    __device__ static void pairs(const Raw& r, int segment, unsigned (&pairs)[8]) {
        const unsigned q[2] = {segment ? r.q.z : r.q.x, segment ? r.q.w : r.q.y};
#pragma unroll
        for (int i = 0; i < 2; i++) {
            pairs[4 * i] = pair_of_e2m1<0>(q[i]), pairs[4 * i + 1] = pair_of_e2m1<1>(q[i]);
            pairs[4 * i + 2] = pair_of_e2m1<2>(q[i]), pairs[4 * i + 3] = pair_of_e2m1<3>(q[i]);
        }
    }
    // Weights are 2^-8 of what they stand for: a scale of up to 448 times 2^126, by which a quant's bits are multiplied, would overflow.
    static constexpr float WEIGHTS = 256.0f;
    // The two scales of 32 neighbours, each as a pair, with that factor.
    __device__ static void scale_pairs(unsigned two, unsigned (&pairs)[2]) {
        constexpr unsigned UP_SCALE = 0x7b807b80u, UP = 0x7a807a80u;  // 2^120, 2^118
        const unsigned high = __byte_perm(two, 0, 0x1404), bits = and_or(high, 0x80008000u, high >> 4 & 0x07f007f0u);
        const unsigned both = multiply_pairs(multiply_pairs(bits, UP_SCALE), UP);
        pairs[0] = __byte_perm(both, 0, 0x1010), pairs[1] = __byte_perm(both, 0, 0x3232);
    }
    // Eight neighbours times their scale.
    __device__ static void weights(unsigned word, unsigned scale, unsigned* pairs) {
        pairs[0] = multiply_pairs(bits_of_e2m1<0>(word), scale), pairs[1] = multiply_pairs(bits_of_e2m1<1>(word), scale);
        pairs[2] = multiply_pairs(bits_of_e2m1<2>(word), scale), pairs[3] = multiply_pairs(bits_of_e2m1<3>(word), scale);
    }
    __device__ static void weights(const Raw& r, unsigned (&pairs)[2][8]) {
        unsigned scales[2];
        scale_pairs(r.d, scales);
        weights(r.q.x, scales[0], pairs[0]), weights(r.q.y, scales[0], pairs[0] + 4);
        weights(r.q.z, scales[1], pairs[1]), weights(r.q.w, scales[1], pairs[1] + 4);
    }
    __device__ static float element(const unsigned char* row, int in, int k, const float*) {
        unsigned q = cached_1(row + k / 2) >> (4 * (k % 2)) & 15;
        float w[4];
        floats_of_e2m1(e2m1_bytes(q, 0), w);
        return float_of_e4m3(cached_1(row + second(in) + k / 16)) * w[0];
    }
};

template <> struct Planes<mxfp4> : PlaneOffsets<32, 16, 1> {
    static constexpr int CHUNK = 32, SEGMENTS = 2, SEGMENT = 16;
    static constexpr bool SCALED = true, OFFSET = false, EXACT = true;
    struct Raw { uint4 q = {}; unsigned d = 0; };
    __device__ static Raw load(const unsigned char* row, int in, int chunk, const float*) {
        return {stream_16(row + 16 * chunk), cached_1(row + second(in) + chunk)};
    }
    __device__ static int start(int chunk, int segment) { return 32 * chunk + 16 * segment; }
    __device__ static float scale(const Raw& r, int) { return power_of_two(r.d); }
    __device__ static float offset(const Raw&, int) { return 0.0f; }
    __device__ static void decode(const Raw& r, int segment, float (&w)[16]) {
        const unsigned q[4] = {r.q.x, r.q.y, r.q.z, r.q.w};
#pragma unroll
        for (int i = 0; i < 4; i++) floats_of_e2m1(e2m1_bytes(q[i], segment), w + 4 * i);
    }
    static constexpr int APART = 2;
    __device__ static void pairs(const Raw& r, int segment, unsigned (&pairs)[8]) {
        const unsigned q[4] = {r.q.x, r.q.y, r.q.z, r.q.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            pairs[2 * i] = segment ? pair_of_e2m1<1>(q[i]) : pair_of_e2m1<0>(q[i]);
            pairs[2 * i + 1] = segment ? pair_of_e2m1<3>(q[i]) : pair_of_e2m1<2>(q[i]);
        }
    }
    static constexpr float WEIGHTS = 1.0f;
    __device__ static void weights(const Raw& r, unsigned (&weights)[2][8]) {
        const float power = power_of_two(r.d);
        const unsigned scale = pack_bf16(power, power);
#pragma unroll
        for (int segment = 0; segment < 2; segment++) {
            pairs(r, segment, weights[segment]);
#pragma unroll
            for (int i = 0; i < 8; i++) weights[segment][i] = multiply_pairs(weights[segment][i], scale);
        }
    }
    __device__ static float element(const unsigned char* row, int in, int k, const float*) {
        unsigned q = cached_1(row + 16 * (k / 32) + k % 16) >> (k % 32 < 16 ? 0 : 4) & 15;
        float w[4];
        floats_of_e2m1(e2m1_bytes(q, 0), w);
        return power_of_two(cached_1(row + second(in) + k / 32)) * w[0];
    }
};

// The row of fp8's table of scales that belongs to row `out` of a matrix with rows of `in`; other formats get null.
template <class F> __device__ __forceinline__ const float* scale_row(const float* scales, int out, int in) {
    if constexpr (std::is_same_v<F, fp8_e4m3>) return scales + static_cast<long long>(out / 128) * ceil_div(in, 128);
    return nullptr;
}

// The weights of a segment, without the matrix's factor.
template <class F>
__device__ __forceinline__ void segment_weights(const typename Planes<F>::Raw& raw, int segment, float (&w)[Planes<F>::SEGMENT]) {
    using P = Planes<F>;
    P::decode(raw, segment, w);
    if constexpr (P::SCALED) {
        float scale = P::scale(raw, segment), offset = P::offset(raw, segment);
#pragma unroll
        for (int i = 0; i < P::SEGMENT; i++) w[i] = P::OFFSET ? scale * w[i] + offset : scale * w[i];
    }
}

// The same as pairs of bf16, rounded to the nearest.
template <class F>
__device__ __forceinline__ void segment_pairs(const typename Planes<F>::Raw& raw, int segment, unsigned (&pairs)[Planes<F>::SEGMENT / 2]) {
    if constexpr (std::is_same_v<F, bf16>) {
        pairs[0] = raw.q.x, pairs[1] = raw.q.y, pairs[2] = raw.q.z, pairs[3] = raw.q.w;
    } else {
        float w[Planes<F>::SEGMENT];
        segment_weights<F>(raw, segment, w);
#pragma unroll
        for (int i = 0; i < Planes<F>::SEGMENT / 2; i++) pairs[i] = pack_bf16(w[2 * i], w[2 * i + 1]);
    }
}
