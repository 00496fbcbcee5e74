// Latent attention in expanded form: ordinary causal attention over keys and values that mla_expand has made.
//
// A block is two warpgroups, each with 64 query rows of one head. Per tile of positions a warpgroup makes the scores of its rows, turns
// them to weights in registers and multiplies those with the values; two tiles are in shared memory, one of them on its way.
#pragma once
#include "expanded.cuh"
#include "warpgroup.cuh"

constexpr int EXPANDED_ROWS = 128, EXPANDED_THREADS = 256;

template <int KEY, int V> struct ExpandedShape {
    static constexpr int PADDED = round_up(KEY, 16), KEY_CHUNKS = ceil_div(KEY, 64), V_CHUNKS = ceil_div(V, 64);
    static constexpr int QUERIES = KEY_CHUNKS * EXPANDED_ROWS * 128;
    static constexpr int shared_with(int tile) { return QUERIES + 2 * tile * 128 * (KEY_CHUNKS + V_CHUNKS); }
    static constexpr int TILE = shared_with(128) <= 232448 && V_CHUNKS <= 2 ? 128 : 64;
    static constexpr int STAGE = TILE * 128 * (KEY_CHUNKS + V_CHUNKS);
    static_assert(KEY % 8 == 0 && V % 8 == 0, "rows are copied 8 elements at a time");
    static_assert(V <= 256, "the accumulator of a warpgroup is 64 x 256 at most");
    static_assert(shared_with(TILE) <= 232448, "keys of a head are too wide for shared memory");
};

template <int NOPE, int ROPE, int V, class Phase>
__device__ __forceinline__ void mla_prefill_expanded(const Step& step, const bf16* q, const bf16* keys, const bf16* values, bf16* attn, float scale,
                                                     int first_span, int first_head, int context_rows, int heads) {
    constexpr int KEY = NOPE + ROPE;
    using Shape = ExpandedShape<KEY, V>;
    constexpr int TILE = Shape::TILE;
    extern __shared__ __align__(1024) unsigned char shared[];
    TENON_ASSERT(threads_of_block() == EXPANDED_THREADS && dynamic_shared_bytes() >= Shape::QUERIES + 2 * Shape::STAGE);
    wait_for_previous();
    start_next();
    const int span = blockIdx.z, head = blockIdx.y;
    const int sequence = span_of<Phase>(step, first_span + span);
    if (sequence < 0) return;
    // Blocks with the longest contexts start first.
    const int length = step.length[sequence], start = step.start[sequence], blocks = ceil_div(length, EXPANDED_ROWS);
    if (static_cast<int>(blockIdx.x) >= blocks) return;
    const int first_token = (blocks - 1 - static_cast<int>(blockIdx.x)) * EXPANDED_ROWS, tokens = min(EXPANDED_ROWS, length - first_token);
    const int end = start + first_token + tokens, tiles = ceil_div(end, TILE);
    const long long row_of_workspace = static_cast<long long>(head) * context_rows + packed_row<Phase>(step, first_span, span);
    if (row_of_workspace - static_cast<long long>(head) * context_rows + end > context_rows) return;

    const int thread = threadIdx.x, group = thread / 128, warp = thread % 128 / 32, lane = thread % 32;
    const long long q_stride = static_cast<long long>(heads) * KEY;
    const bf16* from_q = q + (step.first[sequence] + first_token) * q_stride + (first_head + head) * KEY;
    const bf16* from_keys = keys + row_of_workspace * KEY;
    const bf16* from_values = values + row_of_workspace * V;

    // 8 threads copy 128 bytes of a row; zeros past the context and past the dim.
    auto load = [&](unsigned char* to, const bf16* from, int rows, int dim, int padded, int exist, long long stride) {
#pragma unroll
        for (int pass = 0; pass < rows / 32; pass++) {
            const int row = pass * 32 + thread / 8;
#pragma unroll
            for (int chunk = 0; chunk < ceil_div(padded, 64); chunk++) {
                const int column = chunk * 64 + thread % 8 * 8;
                if (column >= padded) break;
                const bool valid = row < exist && column < dim;
                copy_16(to + chunk * rows * 128 + swizzled(row, thread % 8), valid ? from + row * stride + column : from, valid);
            }
        }
    };
    auto load_tile = [&](int tile) {
        unsigned char* to = shared + Shape::QUERIES + tile % 2 * Shape::STAGE;
        const int first = tile * TILE, exist = end - first;
        load(to, from_keys + static_cast<long long>(first) * KEY, TILE, KEY, Shape::PADDED, exist, KEY);
        load(to + Shape::KEY_CHUNKS * TILE * 128, from_values + static_cast<long long>(first) * V, TILE, V, V, exist, V);
    };

    load(shared, from_q, EXPANDED_ROWS, KEY, Shape::PADDED, tokens, q_stride);
    load_tile(0);
    commit_copies();

    float out[Shape::V_CHUNKS * 32] = {};
    float maximum[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0f, 0.0f};
    const float to_power = scale * LOG2_E;
    const int row = group * 64 + 16 * warp + lane / 4;
    // What the first and the last row of this warpgroup see.
    const int nearest = start + first_token + group * 64, farthest = nearest + 63;
    const bool has_rows = group * 64 < tokens;
    const unsigned queries = shared_address(shared) + group * 64 * 128;
    for (int tile = 0; tile < tiles; tile++) {
        // Here everyone has this tile, and has done with the one before, whose room the next one takes.
        wait_copies<0>();
        written_for_products();
        __syncthreads();
        if (tile + 1 < tiles) load_tile(tile + 1);
        commit_copies();
        if (!has_rows || tile * TILE > farthest) continue;

        const unsigned tile_keys = shared_address(shared) + Shape::QUERIES + tile % 2 * Shape::STAGE, tile_values = tile_keys + Shape::KEY_CHUNKS * TILE * 128;
        float scores[TILE / 2];
        products_begin();
#pragma unroll
        for (int k = 0; k < Shape::PADDED / 16; k++)
            product<TILE, 0>(scores, along_columns(queries + k / 4 * EXPANDED_ROWS * 128 + k % 4 * 32), along_columns(tile_keys + k / 4 * TILE * 128 + k % 4 * 32), k > 0);
        products_commit();
        products_wait<0>();

        if (tile * TILE + TILE - 1 > nearest) {
            const int position = tile * TILE + 2 * (lane % 4), limit = start + first_token + row;
#pragma unroll
            for (int i = 0; i < TILE / 2; i++)
                if (position + i / 4 * 8 + i % 2 > limit + i / 2 % 2 * 8) scores[i] = -INFINITY;
        }
        // The first tile has a position that every row sees, so maxima are finite.
        float shrink[2], base[2];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float largest = scores[2 * half];
#pragma unroll
            for (int i = 0; i < TILE / 2; i++)
                if (i / 2 % 2 == half) largest = fmaxf(largest, scores[i]);
            largest = fmaxf(maximum[half], row_max(largest));
            shrink[half] = exp2_of((maximum[half] - largest) * to_power);
            maximum[half] = largest;
            base[half] = largest * to_power;
            sum[half] *= shrink[half];
        }
        unsigned weights[TILE / 16][4];
#pragma unroll
        for (int i = 0; i < TILE / 2; i += 2) {
            const int half = i / 2 % 2;
            const float x = exp2_of(fmaf(scores[i], to_power, -base[half])), y = exp2_of(fmaf(scores[i + 1], to_power, -base[half]));
            sum[half] += x + y;
            weights[i / 8][i / 2 % 4] = pack_bf16(x, y);
        }
// Maxima grow rarely after the first tiles.
        if (__any_sync(0xffffffff, shrink[0] != 1.0f || shrink[1] != 1.0f)) {
#pragma unroll
            for (int i = 0; i < Shape::V_CHUNKS * 32; i++) out[i] *= shrink[i / 2 % 2];
        }
        products_begin();
#pragma unroll
        for (int k = 0; k < TILE / 16; k++) product<Shape::V_CHUNKS * 64, 1>(out, weights[k], down_rows(tile_values + k * 2048, TILE * 128));
        products_commit();
        products_wait<0>();
    }
    wait_copies<0>();

#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int token = row + 8 * half;
        const float share = 1.0f / row_sum(sum[half]);
        if (token >= tokens) continue;
        bf16* to = attn + (static_cast<long long>(step.first[sequence]) + first_token + token) * heads * V + (first_head + head) * V;
#pragma unroll
        for (int j = 0; j < Shape::V_CHUNKS * 8; j++) {
            const int column = 8 * j + 2 * (lane % 4);
            if (column >= V) continue;
            *reinterpret_cast<unsigned*>(to + column) = pack_bf16(out[4 * j + 2 * half] * share, out[4 * j + 2 * half + 1] * share);
        }
    }
}
