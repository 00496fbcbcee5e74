// Products of one row of activations with stored quants of 4 bits, where decoding them would take the time that reading them needs. Blocks stay;
// each warp goes through pairs of rows of weights, which pass through a ring in shared memory, and holds its activations in registers.
//
// A tile of the tensor cores has 16 rows and 8 columns. Lane l / 4 = g has weights of rows g and g + 8, and activations of column g, so that it
// may choose which elements of `in` those are: rows g and g + 8 are then two rows of weights, and what counts of the tile are the products of row g
// with column g. All lanes of a warp have different elements of the same two rows, and read neighbouring bytes.
#pragma once
#include "planes.cuh"
#include "product_rows.cuh"
#include "step.cuh"
#include "warp.cuh"

// A unit is 1024 weights of two rows: of each row that many bytes of quants and of scales.
constexpr int UNIT = 1024, UNIT_QUANTS = 512, UNIT_SCALES = 64;
// Units of a row whose activations a warp holds.
constexpr int UNITS = 2;

// What a format does with a unit: `hold` fills its activations (zeros from `end` on), `unit` adds its products to `Sums`. Weights after the end of a
// row are zeros.
template <class F> struct StreamedUnit { static constexpr bool EXISTS = false; };

// What of a tile this lane has of the products of rows g and g + 8 with column g.
__device__ __forceinline__ float2 diagonal(const float (&c)[4]) {
    const int lane = threadIdx.x % WARP, group = lane / 4;
    if (lane % 4 != group / 2) return make_float2(0.0f, 0.0f);
    return group % 2 ? make_float2(c[1], c[3]) : make_float2(c[0], c[2]);
}

// A quant times its scale is exact in bf16, so that sums of different scales need not be kept apart.
template <> struct StreamedUnit<nvfp4> {
    static constexpr bool EXISTS = true;
    using P = Planes<nvfp4>;
    struct Table {};
    struct Sums {
        float c[2][4] = {};
        __device__ float2 total() const {
            const float2 a = diagonal(c[0]), b = diagonal(c[1]);
            return make_float2(P::WEIGHTS * (a.x + b.x), P::WEIGHTS * (a.y + b.y));
        }
    };

    // A lane has 32 neighbours: of every 8, the first with the fifth, and so on.
    __device__ static void hold(const bf16* x, int start, int end, int, Table&, unsigned (&pairs)[16]) {
        const int k = start + 32 * (threadIdx.x % WARP);
        unsigned neighbours[16] = {};
        if (k < end) load_pairs<32>(x + k, neighbours);
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const int at = i / 4 * 4 + i % 4 / 2;
            pairs[i] = __byte_perm(neighbours[at], neighbours[at + 2], i % 2 ? 0x7632 : 0x5410);
        }
    }
    __device__ static void unit(const unsigned char* quants, const unsigned char* scales_of, int, Table&, const unsigned (&b)[16], Sums& sums) {
        const int lane = threadIdx.x % WARP;
        unsigned q[2][4], s[2][2];
#pragma unroll
        for (int row = 0; row < 2; row++) {
            const uint4 v = reinterpret_cast<const uint4*>(quants + UNIT_QUANTS * row)[lane];
            q[row][0] = v.x, q[row][1] = v.y, q[row][2] = v.z, q[row][3] = v.w;
            P::scale_pairs(reinterpret_cast<const unsigned short*>(scales_of + UNIT_SCALES * row)[lane], s[row]);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned first[4], second[4];
            P::weights(q[0][i], s[0][i / 2], first);
            P::weights(q[1][i], s[1][i / 2], second);
            const unsigned low[4] = {first[0], second[0], first[1], second[1]}, high[4] = {first[2], second[2], first[3], second[3]};
            mma(sums.c[0], low, b[4 * i], b[4 * i + 1]);
            mma(sums.c[1], high, b[4 * i + 2], b[4 * i + 3]);
        }
    }
};

// Scales and minima of a unit are decoded once, by the lane that has them, and read by all. Four lanes have the 32 weights of a scale.
template <> struct StreamedUnit<q4_k> {
    static constexpr bool EXISTS = true;
    // Quants are multiplied as 128 + q: what that adds is 128 times the sum of the activations, which the minimum is multiplied with anyway.
    static constexpr unsigned MASK = 0x000f000fu, BASE = 0x43004300u;
    static constexpr float BASE_VALUE = 128.0f;
    struct Table {
        float4 groups[2][16];  // of the 16 pairs of groups of a row: scale and offset of both
        float2 totals[UNITS][16];  // sums of the activations of these groups, for the units of a warp
    };
    struct Sums {
        float c[4] = {}, offsets[2] = {};
        __device__ float2 total() const {
            const float2 products = diagonal(c);
            // All four lanes of a group have the offsets.
            const bool first = threadIdx.x % 4 == 0;
            return make_float2(products.x + (first ? offsets[0] : 0.0f), products.y + (first ? offsets[1] : 0.0f));
        }
    };

    // Pieces of 256 elements. A lane has 8 bytes of each: 8 elements of one group and 8 of the next.
    __device__ static void hold(const bf16* x, int start, int end, int unit, Table& table, unsigned (&pairs)[16]) {
        const int lane = threadIdx.x % WARP, group = lane / 4, quarter = lane % 4;
#pragma unroll
        for (int piece = 0; piece < 2; piece++) {
            float totals[2];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int k = start + 512 * piece + 64 * group + 32 * half + 8 * quarter;
                unsigned neighbours[4] = {};
                if (k < end) load_pairs<8>(x + k, neighbours);
                float total = 0.0f;
#pragma unroll
                for (int i = 0; i < 4; i++) total += __uint_as_float(neighbours[i] << 16) + __uint_as_float(neighbours[i] & 0xffff0000u);
                total += __shfl_xor_sync(0xffffffff, total, 1);
                totals[half] = total + __shfl_xor_sync(0xffffffff, total, 2);
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    pairs[8 * piece + 4 * half + i] = __byte_perm(neighbours[i / 2 * 2], neighbours[i / 2 * 2 + 1], i % 2 ? 0x7632 : 0x5410);
                }
            }
            if (quarter == 0) table.totals[unit][8 * piece + group] = make_float2(totals[0], totals[1]);
        }
    }
    __device__ static void unit(const unsigned char* quants, const unsigned char* scales_of, int unit, Table& table, const unsigned (&b)[16], Sums& sums) {
        const int lane = threadIdx.x % WARP, group = lane / 4;
        __syncwarp();
        {
            // Lane l decodes groups 2 (l % 4) and the next of block l / 4 % 4 of row l / 16. Of 8 groups, the last four have their high bits apart.
            const uint4 block = *reinterpret_cast<const uint4*>(scales_of + UNIT_SCALES * (lane / 16) + 16 * (lane / 4 % 4));
            const int shift = 16 * (lane % 2);
            const unsigned first = block.y >> shift, second = block.z >> shift, third = block.w >> shift;
            const bool later = lane % 4 >= 2;
            const unsigned scales = later ? and_or(third, 0x0f0fu, first >> 2 & 0x3030u) : first & 0x3f3fu;
            const unsigned minima = later ? and_or(third >> 4, 0x0f0fu, second >> 2 & 0x3030u) : second & 0x3f3fu;
            const float d = float_of_half(block.x & 0xffff), dmin = float_of_half(block.x >> 16);
            const float low = d * static_cast<float>(scales & 0xff), high = d * static_cast<float>(scales >> 8);
            table.groups[lane / 16][lane % 16] = make_float4(low, fmaf(-BASE_VALUE, low, -dmin * static_cast<float>(minima & 0xff)), high,
                                                             fmaf(-BASE_VALUE, high, -dmin * static_cast<float>(minima >> 8)));
        }
        __syncwarp();
#pragma unroll
        for (int piece = 0; piece < 2; piece++) {
            float4 groups[2];
            uint2 q[2];
#pragma unroll
            for (int row = 0; row < 2; row++) {
                q[row] = reinterpret_cast<const uint2*>(quants + UNIT_QUANTS * row + 256 * piece)[lane];
                groups[row] = table.groups[row][8 * piece + group];
            }
            const float2 totals = table.totals[unit][8 * piece + group];
            float low[4] = {}, high[4] = {};
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const unsigned q0 = i == 0 ? q[0].x : q[0].y, q1 = i == 0 ? q[1].x : q[1].y;
                const unsigned* at = b + 8 * piece + 2 * i;
                const unsigned of_low[4] = {and_or(q0, MASK, BASE), and_or(q1, MASK, BASE), and_or(q0 >> 8, MASK, BASE), and_or(q1 >> 8, MASK, BASE)};
                const unsigned of_high[4] = {and_or(q0 >> 4, MASK, BASE), and_or(q1 >> 4, MASK, BASE), and_or(q0 >> 12, MASK, BASE), and_or(q1 >> 12, MASK, BASE)};
                mma(low, of_low, at[0], at[1]);
                mma(high, of_high, at[4], at[5]);
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float4 group_scales = groups[i / 2];
                sums.c[i] = fmaf(group_scales.z, high[i], fmaf(group_scales.x, low[i], sums.c[i]));
            }
#pragma unroll
            for (int row = 0; row < 2; row++) sums.offsets[row] = fmaf(groups[row].y, totals.x, fmaf(groups[row].w, totals.y, sums.offsets[row]));
        }
    }
};

template <class F, int WARPS, int OUTS> struct StreamedRow {
    using Unit = StreamedUnit<F>;
    static constexpr int UNIT_BYTES = 2 * (UNIT_QUANTS + UNIT_SCALES), PAIRS = OUTS / 2;
    // Units under way.
    static constexpr int DEPTH = 4;
    // Parts of a row begin where 16 bytes of scales do.
    static constexpr int PART = 16 * UNIT / UNIT_SCALES;
    static constexpr int LONGEST = WARPS * UNITS * UNIT;

    struct Shared {
        unsigned char ring[WARPS][DEPTH][UNIT_BYTES];
        typename Unit::Table tables[WARPS];
        float sums[2][WARPS][OUTS];
    };

    // Sums over the warp of N values, of which lane l gets that of value l / (WARP / N).
    template <int N> __device__ static float sum_of_group(float (&values)[N]) {
        const int lane = threadIdx.x % WARP;
#pragma unroll
        for (int left = N / 2, bit = WARP / 2; bit > 0; left /= 2, bit /= 2) {
            if (left == 0) {
                values[0] += __shfl_xor_sync(0xffffffff, values[0], bit);
                continue;
            }
#pragma unroll
            for (int i = 0; i < N / 2; i++) {
                if (i >= left) break;
                const bool high = lane & bit;
                const float kept = high ? values[i + left] : values[i], given = high ? values[i] : values[i + left];
                values[i] = kept + __shfl_xor_sync(0xffffffff, given, bit);
            }
        }
        return values[0];
    }

    // Sums of all tiles of this block. `row_of` and `finish` are as `Quants` has them. Waits for the previous kernel before it reads `x`. `in` is
    // at most LONGEST.
    template <class RowOf, class Finish>
    __device__ static void run(RowOf row_of, int tiles, const bf16* x, int in, Shared& shared, Finish finish) {
        const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        // Warps that share a tile, each with a part of `in`: a unit or more, less where there are fewer tiles than warps could have. All activations
        // are then read once by a block.
        int along = 1;
        while (along < WARPS && (along * UNIT < in || (along * PART < in && 2 * along * tiles <= static_cast<int>(gridDim.x) * WARPS))) along *= 2;
        const int length = round_up(ceil_div(in, along), PART), units = ceil_div(length, UNIT);
        const int groups = WARPS / along, part = warp % along, first = blockIdx.x * groups + warp / along, stride = gridDim.x * groups;
        const int start = part * length, end = min(start + length, in);
        const int rounds = ceil_div(tiles - static_cast<int>(blockIdx.x) * groups, stride);  // the same for all warps
        if (rounds <= 0) return;

        // Where copies are: they run ahead of the products by DEPTH units.
        int copy_round = 0, copy_pair = 0, copy_unit = 0;
        unsigned slot = 0;
        // Half of the lanes copy one row, half the other.
        const unsigned half = lane / (WARP / 2), at = 16 * (lane % (WARP / 2));
        const unsigned char* row = nullptr;
        auto point = [&] { row = row_of(min(first + copy_round * stride, tiles - 1), 2 * copy_pair + static_cast<int>(half)).planes; };
        const unsigned scales_of_row = Planes<F>::second(in), row_bytes = Planes<F>::row_bytes(in), quants_end = max(end, 0) / (UNIT / UNIT_QUANTS);
        auto copy = [&] {
            if (copy_round < rounds) {
                unsigned char* to = shared.ring[warp][slot] + at;
                const unsigned k = start + copy_unit * UNIT;
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    const unsigned quants = k / (UNIT / UNIT_QUANTS) + UNIT_QUANTS / 2 * i + at;
                    const bool valid = quants < quants_end;
                    copy_16(to + UNIT_QUANTS * half + UNIT_QUANTS / 2 * i, row + (valid ? quants : 0), valid);
                }
                if (at < UNIT_SCALES) {
                    const unsigned scales = scales_of_row + k / (UNIT / UNIT_SCALES) + at;
                    const bool valid = scales < row_bytes;
                    copy_16(to + 2 * UNIT_QUANTS + UNIT_SCALES * half, row + (valid ? scales : 0), valid);
                }
                if (++copy_unit == units) {
                    copy_unit = 0;
                    if (++copy_pair == PAIRS) copy_pair = 0, copy_round++;
                    if (copy_round < rounds) point();
                }
            }
            commit_copies();
            slot = (slot + 1) % DEPTH;
        };
        point();
        for (int d = 0; d < DEPTH; d++) copy();
        start_next();
        wait_for_previous();

        unsigned columns[UNITS][16];
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            if (u < units) Unit::hold(x, start + u * UNIT, end, u, shared.tables[warp], columns[u]);
        }
        auto next = [&](int u, typename Unit::Sums& sums) {
            wait_copies<DEPTH - 1>();
            __syncwarp();
            const unsigned char* unit = shared.ring[warp][slot];
            Unit::unit(unit, unit + 2 * UNIT_QUANTS, u, shared.tables[warp], columns[u], sums);
            __syncwarp();
            copy();
        };
        for (int round = 0; round < rounds; round++) {
            float* sums_of = shared.sums[round % 2][warp];
            if (units == 1) {
                float all[OUTS];
#pragma unroll
                for (int pair = 0; pair < PAIRS; pair++) {
                    typename Unit::Sums sums;
                    next(0, sums);
                    const float2 both = sums.total();
                    all[2 * pair] = both.x, all[2 * pair + 1] = both.y;
                }
                const float sum = sum_of_group(all);
                if (lane % (WARP / OUTS) == 0) sums_of[lane / (WARP / OUTS)] = sum;
            } else {
#pragma unroll 1
                for (int pair = 0; pair < PAIRS; pair++) {
                    typename Unit::Sums sums;
#pragma unroll
                    for (int u = 0; u < UNITS; u++) {
                        if (u < units) next(u, sums);
                    }
                    const float2 both = sums.total();
                    float two[2] = {both.x, both.y};
                    const float sum = sum_of_group(two);
                    if (lane % (WARP / 2) == 0) sums_of[2 * pair + lane / (WARP / 2)] = sum;
                }
            }
            if (along > 1) __syncthreads();
            else __syncwarp();
            if (part != 0) continue;
            float sum = 0.0f;
            for (int w = 0; w < along; w++) sum += shared.sums[round % 2][warp + w][lane % OUTS];
            const int tile = first + round * stride;
            finish(tile, lane, sum, lane < OUTS && tile < tiles);
        }
    }
};
