// Causal attention of spans of one token over the paged cache. A thread block takes a part of the context for all query heads of one
// key-value head, so that keys and values are read once; a warp takes 16 positions of every tile. The last block of a sequence and
// key-value head adds up the parts.
#pragma once
#include "kv_tile.cuh"
#include "manifest.cuh"
#include "softmax.cuh"

// How the warps of a block divide its work. TILE_KV is an upper limit. TEMPLATE.toml computes the same.
template <class Cache, int HEAD_DIM, int GROUP, int TILE_KV_MAX> struct DecodeShape {
    static_assert(HEAD_DIM % 8 == 0 && HEAD_DIM <= 512 && GROUP <= 64, "rows of whole 16-byte units, and at most 16 warps");
    static constexpr int COLUMN_GROUPS = ceil_div(HEAD_DIM, 128);
    static constexpr int TILE_KV = TILE_KV_MAX < 16 * (4 / COLUMN_GROUPS) ? TILE_KV_MAX : 16 * (4 / COLUMN_GROUPS);
    static constexpr int KV_GROUPS = TILE_KV / 16, ROW_GROUPS = ceil_div(GROUP, 16);
    static constexpr int WARPS = KV_GROUPS * ROW_GROUPS * COLUMN_GROUPS, THREADS = WARP * WARPS;
    // Blocks of 16 dimensions, and how many of them a warp sums values of.
    static constexpr int SIXTEENS = ceil_div(HEAD_DIM, 16), OWN_SIXTEENS = ceil_div(SIXTEENS, COLUMN_GROUPS);
    // Rows in shared memory are an odd number of 16-byte units apart, so that the 8 rows of a matrix lie in different banks.
    static constexpr int PITCH = 16 * SIXTEENS + 8, ROW_BYTES = 2 * PITCH;
    static constexpr bool WIDEN = sizeof(Cache) == 1;
    // Tiles on their way: keys, then values. fp8 arrives as it is and is widened into one tile more.
    static constexpr int STAGES = 3;
    static constexpr int STAGED_BYTES = TILE_KV * (WIDEN ? HEAD_DIM : ROW_BYTES);
    static constexpr int WIDE_BYTES = WIDEN ? TILE_KV * ROW_BYTES : 0;
    static constexpr int Q_BYTES = 16 * ROW_GROUPS * ROW_BYTES;
    static constexpr int TILES_BYTES = Q_BYTES + 2 * STAGES * STAGED_BYTES + 2 * WIDE_BYTES;
    static constexpr int SUMS_BYTES = TILE_KV * ROW_GROUPS * HEAD_DIM * 4;
    static_assert((TILES_BYTES > SUMS_BYTES ? TILES_BYTES : SUMS_BYTES) <= 230400, "shared memory of a block");
};

// The scores of 16 query heads against 16 positions: s[0] has the first 8.
template <int SIXTEENS, int PITCH> __device__ __forceinline__ void decode_scores(float (&s)[2][4], const bf16* q, const bf16* keys) {
    const int lane = threadIdx.x % WARP;
    const bf16* a_row = q + lane % 16 * PITCH + lane / 16 * 8;
    const bf16* b_row = keys + (lane % 8 + lane / 16 * 8) * PITCH + lane / 8 % 2 * 8;
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) s[n][i] = 0.0f;
#pragma unroll 8
    for (int k = 0; k < SIXTEENS; k++) {
        unsigned a[4], b[4];
        load_matrices(a, a_row + 16 * k);
        load_matrices(b, b_row + 16 * k);
        mma(s[0], a, b[0], b[1]);
        mma(s[1], a, b[2], b[3]);
    }
}

// One row of results from the parts of its context: each left its largest score, its sum of weights and its weighted values.
template <int HEAD_DIM>
__device__ __forceinline__ void decode_combine(const float* parts, int count, float sink, bf16* out) {
    constexpr int STRIDE = HEAD_DIM + 2, PAIRS = ceil_div(HEAD_DIM, 2 * WARP), AHEAD = PAIRS <= 2 ? 8 : 4;
    const int lane = threadIdx.x % WARP;
    float largest = sink;
    for (int part = lane; part < count; part += WARP) largest = fmaxf(largest, __ldcg(parts + static_cast<long long>(part) * STRIDE + HEAD_DIM));
    largest = warp_max(largest);
    float sum = exp2_near(sink - largest);
    float2 acc[PAIRS];
#pragma unroll
    for (int i = 0; i < PAIRS; i++) acc[i] = make_float2(0.0f, 0.0f);
#pragma unroll AHEAD
    for (int part = 0; part < count; part++) {
        const float* at = parts + static_cast<long long>(part) * STRIDE;
        const float2 ends = __ldcg(reinterpret_cast<const float2*>(at + HEAD_DIM));
        const float weight = exp2_near(ends.x - largest);
        sum = fmaf(weight, ends.y, sum);
#pragma unroll
        for (int i = 0; i < PAIRS; i++) {
            const int column = 2 * (lane + WARP * i);
            if (column >= HEAD_DIM) continue;
            const float2 value = __ldcg(reinterpret_cast<const float2*>(at + column));
            acc[i].x = fmaf(weight, value.x, acc[i].x);
            acc[i].y = fmaf(weight, value.y, acc[i].y);
        }
    }
    const float multiply = 1.0f / sum;
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        const int column = 2 * (lane + WARP * i);
        if (column < HEAD_DIM) *reinterpret_cast<unsigned*>(out + column) = pack_bf16(acc[i].x * multiply, acc[i].y * multiply);
    }
}

template <class Cache, int HEAD_DIM, int GROUP, int TILE_KV_MAX>
__device__ __forceinline__ void attention_decode(const Step& step, const bf16* q, const void* kv, const float* sinks, bf16* out, float scale,
                                                 int window, float soft_cap, float* workspace, unsigned* counters, int kv_splits,
                                                 int num_key_value_heads) {
    using Shape = DecodeShape<Cache, HEAD_DIM, GROUP, TILE_KV_MAX>;
    constexpr int TILE_KV = Shape::TILE_KV, PITCH = Shape::PITCH, STAGES = Shape::STAGES, THREADS = Shape::THREADS;
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ long long blocks[4][Shape::KV_GROUPS];
    __shared__ float2 ends[Shape::KV_GROUPS][16 * Shape::ROW_GROUPS];
    __shared__ bool last;
    bf16* q_tile = reinterpret_cast<bf16*>(shared);
    unsigned char* staged = shared + Shape::Q_BYTES;
    unsigned char* wide = staged + 2 * STAGES * Shape::STAGED_BYTES;
    const int thread = threadIdx.x, warp = thread / WARP, lane = thread % WARP;
    const int kv_group = warp % Shape::KV_GROUPS, row_group = warp / Shape::KV_GROUPS % Shape::ROW_GROUPS;
    const int column_group = warp / (Shape::KV_GROUPS * Shape::ROW_GROUPS);
    const int part = blockIdx.x, head = blockIdx.y, span = blockIdx.z, heads = num_key_value_heads * GROUP;

    TENON_ASSERT(threads_of_block() == THREADS && dynamic_shared_bytes() >= max(Shape::TILES_BYTES, Shape::SUMS_BYTES));
    TENON_ASSERT(part < kv_splits && head < num_key_value_heads);
    wait_for_previous();
    start_next();
    const int sequence = step.decode[span];
    if (sequence < 0) return;
    const long long row = step.first[sequence];
    const int limit = step.start[sequence] + 1, seen = window > 0 ? window : INT_MAX / 2;
    // Parts are whole tiles, and tiles start at multiples of their size. A part without a tile is not waited for.
    const int whole_begin = max(0, limit - seen) / TILE_KV * TILE_KV, tiles = ceil_div(limit - whole_begin, TILE_KV);
    const int tiles_of_part = ceil_div(tiles, kv_splits), parts = ceil_div(tiles, tiles_of_part);
    if (part >= parts) return;
    const int begin = whole_begin + part * tiles_of_part * TILE_KV, count = min(tiles_of_part, tiles - part * tiles_of_part);

    constexpr int ROW_BYTES = HEAD_DIM * sizeof(Cache);
    const unsigned char* keys = static_cast<const unsigned char*>(kv);
    const unsigned char* values = keys + static_cast<long long>(num_key_value_heads) * step.page_size * ROW_BYTES;
    const auto offset = [&](int entry, int position) { return key_offset(step, entry, position, head, num_key_value_heads, ROW_BYTES); };
    using Pieces = KvPieces<Cache, HEAD_DIM, TILE_KV, THREADS>;
    constexpr int STAGED_PITCH = Shape::STAGED_BYTES / TILE_KV;
    const auto copy = [&](int tile) {
        unsigned char* stage = staged + tile % STAGES * 2 * Shape::STAGED_BYTES;
#pragma unroll
        for (int what = 0; what < 2; what++)
            copy_kv<Cache, HEAD_DIM, TILE_KV, THREADS, STAGED_PITCH>(
                what ? values : keys, blocks[tile % 4], begin + tile * TILE_KV, limit, thread, [&](int row, int piece) {
                    return stage + what * Shape::STAGED_BYTES + row * STAGED_PITCH + piece * Pieces::BYTES;
                });
    };

    for (int i = thread; i < STAGES * Shape::KV_GROUPS; i += THREADS) {
        const int position = begin + i * KV_BLOCK;
        blocks[i / Shape::KV_GROUPS][i % Shape::KV_GROUPS] = offset(page_entry(step, sequence, position, limit), position);
    }
    // Query rows past the group are zeros, and so are columns past HEAD_DIM, of keys too; values may hold anything there.
    constexpr int UNITS = HEAD_DIM / 8;
    for (int i = thread; i < 16 * Shape::ROW_GROUPS * 2 * Shape::SIXTEENS; i += THREADS) {
        const int query = i / (2 * Shape::SIXTEENS), unit = i % (2 * Shape::SIXTEENS);
        const bool valid = query < GROUP && unit < UNITS;
        copy_16(q_tile + query * PITCH + unit * 8, q + (valid ? (row * heads + head * GROUP + query) * HEAD_DIM + unit * 8 : 0), valid);
    }
    if constexpr (HEAD_DIM % 16 != 0) {
        constexpr int TILES = Shape::WIDEN ? 1 : STAGES, BYTES = Shape::WIDEN ? 2 * Shape::WIDE_BYTES : 2 * Shape::STAGED_BYTES;
        for (int i = thread; i < TILES * TILE_KV; i += THREADS)
            *reinterpret_cast<uint4*>((Shape::WIDEN ? wide : staged) + i / TILE_KV * BYTES + i % TILE_KV * Shape::ROW_BYTES + HEAD_DIM * 2) =
                make_uint4(0, 0, 0, 0);
    }
    __syncthreads();
#pragma unroll
    for (int tile = 0; tile < STAGES - 1; tile++) {
        if (tile < count) copy(tile);
        commit_copies();
    }

    float o[2 * Shape::OWN_SIXTEENS][4];
#pragma unroll
    for (int n = 0; n < 2 * Shape::OWN_SIXTEENS; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) o[n][i] = 0.0f;
    RunningRow rows[2];
    const SoftCap cap(soft_cap, scale);
    const float factor = soft_cap > 0.0f ? LOG2_E : scale * LOG2_E;
    for (int tile = 0; tile < count; tile++) {
        wait_copies<STAGES - 2>();
        __syncthreads();
        if constexpr (Shape::WIDEN) {
            const unsigned char* stage = staged + tile % STAGES * 2 * Shape::STAGED_BYTES;
#pragma unroll
            for (int what = 0; what < 2; what++)
                widen_kv<HEAD_DIM, TILE_KV, THREADS, Shape::ROW_BYTES>(
                    stage + what * Shape::STAGED_BYTES, thread,
                    [&](int row, int unit) { return wide + what * Shape::WIDE_BYTES + row * Shape::ROW_BYTES + unit * 16; });
            __syncthreads();
        }
        if (tile + STAGES - 1 < count) copy(tile + STAGES - 1);
        commit_copies();
        const int looked_up = begin + (tile + STAGES) * TILE_KV + thread * KV_BLOCK;
        const int entry = thread < Shape::KV_GROUPS ? page_entry(step, sequence, looked_up, limit) : 0;

        const unsigned char* stage = Shape::WIDEN ? wide : staged + tile % STAGES * 2 * Shape::STAGED_BYTES;
        const bf16* key_tile = reinterpret_cast<const bf16*>(stage) + kv_group * 16 * PITCH;
        const bf16* value_tile = key_tile + TILE_KV * PITCH;
        float s[2][4];
        decode_scores<Shape::SIXTEENS, PITCH>(s, q_tile + row_group * 16 * PITCH, key_tile);
        const int first = begin + tile * TILE_KV + kv_group * 16 + 2 * (lane % 4);
#pragma unroll
        for (int n = 0; n < 2; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                if (soft_cap > 0.0f) s[n][i] = cap.of(s[n][i]);
                const int at = first + 8 * n + i % 2;
                if (at >= limit || at < limit - seen) s[n][i] = -INFINITY;
            }
        float change[2];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const float top = row_max(fmaxf(fmaxf(s[0][2 * r], s[0][2 * r + 1]), fmaxf(s[1][2 * r], s[1][2 * r + 1])));
            change[r] = rows[r].raise(top, factor);
            const float base = rows[r].base(factor);
#pragma unroll
            for (int n = 0; n < 2; n++)
#pragma unroll
                for (int i = 2 * r; i < 2 * r + 2; i++) {
                    s[n][i] = exp2_near(fmaf(s[n][i], factor, -base));
                    rows[r].sum += s[n][i];
                }
        }
        const unsigned p[4] = {pack_bf16(s[0][0], s[0][1]), pack_bf16(s[0][2], s[0][3]), pack_bf16(s[1][0], s[1][1]), pack_bf16(s[1][2], s[1][3])};
        const bf16* value_row = value_tile + lane % 16 * PITCH + lane / 16 * 8;
#pragma unroll
        for (int n = 0; n < Shape::OWN_SIXTEENS; n++) {
            const int sixteen = column_group * Shape::OWN_SIXTEENS + n;
            if (sixteen >= Shape::SIXTEENS) break;
            unsigned b[4];
            load_matrices_transposed(b, value_row + 16 * sixteen);
#pragma unroll
            for (int half = 0; half < 2; half++) {
#pragma unroll
                for (int i = 0; i < 4; i++) o[2 * n + half][i] *= change[i / 2];
                mma(o[2 * n + half], p, b[2 * half], b[2 * half + 1]);
            }
        }
        if (thread < Shape::KV_GROUPS) blocks[(tile + STAGES) % 4][thread] = offset(entry, looked_up);
    }

    // The warps' sums meet in shared memory, where the tiles were.
    wait_copies<0>();
    __syncthreads();
    float* sums = reinterpret_cast<float*>(shared);
    constexpr int ROWS = 16 * Shape::ROW_GROUPS;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int query = row_group * 16 + lane / 4 + 8 * r;
        const float sum = row_sum(rows[r].sum);
        if (column_group == 0 && lane % 4 == 0) ends[kv_group][query] = make_float2(rows[r].largest * factor, sum);
#pragma unroll
        for (int n = 0; n < 2 * Shape::OWN_SIXTEENS; n++) {
            const int column = column_group * Shape::OWN_SIXTEENS * 16 + 8 * n;
            if (column < HEAD_DIM)
                *reinterpret_cast<float2*>(sums + (kv_group * ROWS + query) * HEAD_DIM + column + 2 * (lane % 4)) = make_float2(o[n][2 * r], o[n][2 * r + 1]);
        }
    }
    __syncthreads();
    constexpr int PAIRS = HEAD_DIM / 2;
    float* parts_of_head = workspace + (static_cast<long long>(span) * heads + head * GROUP) * kv_splits * (HEAD_DIM + 2);
    bf16* to = out + (row * heads + head * GROUP) * HEAD_DIM;
    for (int i = thread; i < GROUP * PAIRS; i += THREADS) {
        const int query = i / PAIRS, column = i % PAIRS * 2;
        float largest = -INFINITY, sum = 0.0f;
#pragma unroll
        for (int g = 0; g < Shape::KV_GROUPS; g++) largest = fmaxf(largest, ends[g][query].x);
        float2 acc = make_float2(0.0f, 0.0f);
#pragma unroll
        for (int g = 0; g < Shape::KV_GROUPS; g++) {
            // A warp whose positions were all masked has weights of 0.
            const float weight = exp2_near(ends[g][query].x - largest);
            const float2 value = *reinterpret_cast<const float2*>(sums + (g * ROWS + query) * HEAD_DIM + column);
            sum = fmaf(weight, ends[g][query].y, sum);
            acc.x = fmaf(weight, value.x, acc.x);
            acc.y = fmaf(weight, value.y, acc.y);
        }
        if (parts == 1) {
            const float sink = sinks ? LOG2_E * sinks[head * GROUP + query] : -INFINITY, top = fmaxf(sink, largest);
            const float weight = exp2_near(largest - top), multiply = weight / fmaf(sum, weight, exp2_near(sink - top));
            *reinterpret_cast<unsigned*>(to + query * HEAD_DIM + column) = pack_bf16(acc.x * multiply, acc.y * multiply);
        } else {
            float* at = parts_of_head + (static_cast<long long>(query) * kv_splits + part) * (HEAD_DIM + 2);
            *reinterpret_cast<float2*>(at + column) = acc;
            if (column == 0) *reinterpret_cast<float2*>(at + HEAD_DIM) = make_float2(largest, sum);
        }
    }
    if (parts == 1) return;

    // Whoever counts last has every part before it. The counter is 0 again for the next launch.
    unsigned* counter = counters + span * num_key_value_heads + head;
    __threadfence();
    __syncthreads();
    if (thread == 0) last = atomicAdd(counter, 1u) == parts - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    if (thread == 0) *counter = 0;
    for (int query = warp; query < GROUP; query += Shape::WARPS)
        decode_combine<HEAD_DIM>(parts_of_head + static_cast<long long>(query) * kv_splits * (HEAD_DIM + 2), parts,
                                 sinks ? LOG2_E * sinks[head * GROUP + query] : -INFINITY, to + query * HEAD_DIM);
}
