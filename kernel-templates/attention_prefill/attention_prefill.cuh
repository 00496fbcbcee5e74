// Causal attention of spans of several tokens over the paged cache. The query heads of a key-value head are packed into the rows of a
// tile, so that they share its keys and values. A warpgroup computes 64 rows: the scores of the next tile of positions and the weighted
// values of this one are in the tensor cores while it exponentiates. Past 256 dimensions two warpgroups share 64 rows and split the
// columns of the values.
#pragma once
#include "kv_tile.cuh"
#include "manifest.cuh"
#include "softmax.cuh"
#include "wgmma.cuh"

// The tiles that fit registers and shared memory: TILE_Q and TILE_KV are upper limits. TEMPLATE.toml computes the same.
template <class Cache, int HEAD_DIM, int TILE_Q_MAX, int TILE_KV_MAX> struct PrefillShape {
    static_assert(HEAD_DIM % 8 == 0 && HEAD_DIM <= 512, "rows of whole 16-byte units, and at most 256 columns for a warpgroup");
    static constexpr int ROOM = 4 / ceil_div(HEAD_DIM, 128);
    static constexpr int TILE_Q = TILE_Q_MAX < 64 * ROOM ? TILE_Q_MAX : 64 * ROOM;
    static constexpr int TILE_KV = TILE_KV_MAX < 32 * ROOM ? TILE_KV_MAX : 32 * ROOM;
    static constexpr int ROW_GROUPS = TILE_Q / 64;
    static constexpr int COLUMN_GROUPS = ceil_div(HEAD_DIM, 256);
    static constexpr int THREADS = 128 * ROW_GROUPS * COLUMN_GROUPS;
    static constexpr int CHUNKS = COLUMN_GROUPS * ceil_div(ceil_div(HEAD_DIM, CHUNK), COLUMN_GROUPS);
    // Columns of the values that a warpgroup sums. Those past HEAD_DIM are never stored, so what they are computed from does not matter.
    static constexpr int COLUMNS = CHUNK * CHUNKS / COLUMN_GROUPS;
    static constexpr int TILE_BYTES = TILE_KV * CHUNKS * CHUNK_ROW_BYTES, Q_BYTES = TILE_Q * CHUNKS * CHUNK_ROW_BYTES;
    static constexpr bool WIDEN = sizeof(Cache) == 1;
    static constexpr int RAW_BYTES = WIDEN ? TILE_KV * HEAD_DIM : 0;
    static constexpr int BLOCKS = TILE_KV / KV_BLOCK;
    // Tiles whose offsets are known: the two that are copied next and the one that is looked up meanwhile.
    static constexpr int KNOWN = 4;
    static_assert(TILE_Q % 64 == 0 && TILE_KV % 32 == 0, "a warpgroup has 64 rows, and tiles are whole products");
    static_assert(CHUNK_ALIGNMENT + Q_BYTES + 4 * TILE_BYTES + 2 * RAW_BYTES + KNOWN * BLOCKS * 8 <= 232448, "shared memory of a block");
};

// Shared memory of a block, and what moves tiles into it.
template <class Cache, class Shape, int HEAD_DIM> struct PrefillTiles {
    unsigned char *q, *keys, *values, *raw;
    long long* blocks;

    __device__ __forceinline__ explicit PrefillTiles(unsigned char* shared) {
        q = shared + (CHUNK_ALIGNMENT - shared_address(shared) % CHUNK_ALIGNMENT) % CHUNK_ALIGNMENT;
        keys = q + Shape::Q_BYTES;
        values = keys + 2 * Shape::TILE_BYTES;
        raw = values + 2 * Shape::TILE_BYTES;
        blocks = reinterpret_cast<long long*>(raw + 2 * Shape::RAW_BYTES);
    }

    // Columns from HEAD_DIM to the next multiple of 16 count in products, so queries and keys have zeros there, which no copy touches.
    __device__ __forceinline__ void pad() const {
        if constexpr (HEAD_DIM % 16 != 0) {
            const uint4 zeros = make_uint4(0, 0, 0, 0);
            for (int row = threadIdx.x; row < Shape::TILE_Q; row += Shape::THREADS)
                *reinterpret_cast<uint4*>(q + swizzled(Shape::TILE_Q, row, HEAD_DIM / 8)) = zeros;
            for (int row = threadIdx.x; row < 2 * Shape::TILE_KV; row += Shape::THREADS) {
                unsigned char* stage = keys + row / Shape::TILE_KV * Shape::TILE_BYTES;
                *reinterpret_cast<uint4*>(stage + swizzled(Shape::TILE_KV, row % Shape::TILE_KV, HEAD_DIM / 8)) = zeros;
            }
        }
    }

    // Starts the copy of a tile of keys (`what` 0) or values (1).
    __device__ __forceinline__ void copy(const unsigned char* cache, int what, int tile, int first, int limit) const {
        unsigned char* stage = (what ? values : keys) + tile % 2 * Shape::TILE_BYTES;
        unsigned char* staged = raw + what * Shape::RAW_BYTES;
        using Pieces = KvPieces<Cache, HEAD_DIM, Shape::TILE_KV, Shape::THREADS>;
        constexpr int PITCH = Shape::WIDEN ? HEAD_DIM : CHUNK_ROW_BYTES;
        copy_kv<Cache, HEAD_DIM, Shape::TILE_KV, Shape::THREADS, PITCH>(
            cache, blocks + tile % Shape::KNOWN * Shape::BLOCKS, first, limit, threadIdx.x, [&](int row, int piece) {
                if constexpr (Shape::WIDEN) return staged + row * HEAD_DIM + piece * Pieces::BYTES;
                return stage + swizzled(Shape::TILE_KV, row, piece);
            });
    }

    // What this thread copied is there; of fp8 it now becomes bf16.
    __device__ __forceinline__ void widen(int what, int tile) const {
        if constexpr (Shape::WIDEN) {
            unsigned char* stage = (what ? values : keys) + tile % 2 * Shape::TILE_BYTES;
            widen_kv<HEAD_DIM, Shape::TILE_KV, Shape::THREADS, CHUNK_ROW_BYTES>(
                raw + what * Shape::RAW_BYTES, threadIdx.x, [&](int row, int unit) { return stage + swizzled(Shape::TILE_KV, row, unit); });
        }
    }
};

// Starts the scores of a warpgroup's 64 rows against a tile of keys.
template <class Shape, int HEAD_DIM> __device__ __forceinline__ void start_scores(float (&s)[Shape::TILE_KV / 2], unsigned q, unsigned keys) {
    const unsigned long long a = operand(q, 16), b = operand(keys, 16);
#pragma unroll
    for (int k = 0; k < ceil_div(HEAD_DIM, 16); k++)
        KeyProduct<Shape::TILE_KV>::add(s, further(a, k / 4 * (Shape::TILE_Q * CHUNK_ROW_BYTES) + k % 4 * 32),
                                        further(b, k / 4 * (Shape::TILE_KV * CHUNK_ROW_BYTES) + k % 4 * 32), k > 0);
}

// Starts the sum of the values of a tile, weighted, into a warpgroup's rows and columns.
template <class Shape> __device__ __forceinline__ void start_values(float (&o)[Shape::COLUMNS / 2], const unsigned (&p)[Shape::TILE_KV / 4], unsigned values) {
    constexpr unsigned CHUNK_BYTES = Shape::TILE_KV * CHUNK_ROW_BYTES;
    const unsigned long long b = operand(values, CHUNK_BYTES);
#pragma unroll
    for (int k = 0; k < Shape::TILE_KV / 16; k++) {
        const unsigned rows = k * 16 * CHUNK_ROW_BYTES;
#pragma unroll
        for (int column = 0; column + 128 <= Shape::COLUMNS; column += 128)
            ValueProduct<128>::add(o + column / 2, p + 4 * k, further(b, rows + column / CHUNK * CHUNK_BYTES));
        if constexpr (Shape::COLUMNS % 128 != 0)
            ValueProduct<64>::add(o + (Shape::COLUMNS - 64) / 2, p + 4 * k, further(b, rows + (Shape::COLUMNS / CHUNK - 1) * CHUNK_BYTES));
    }
}

// The rows of a thread: what they see, and how their scores become weights.
struct PrefillRows {
    RunningRow row[2];
    int position[2];
    int window;  // positions that a query sees, itself included
    SoftCap soft_cap;
    float factor;  // a weight is 2^(factor (score - largest))

    // Scores of positions `first` .. become weights; returns in `change` what earlier sums are multiplied by.
    template <int LEN> __device__ __forceinline__ void weigh(float (&s)[LEN], int first, bool masked, float (&change)[2]) {
        if (soft_cap.cap > 0.0f) {
#pragma unroll
            for (int i = 0; i < LEN; i++) s[i] = soft_cap.of(s[i]);
        }
        if (masked) {
            const int column = first + 2 * (threadIdx.x % 4);
#pragma unroll
            for (int i = 0; i < LEN; i++) {
                const int at = column + 8 * (i / 4) + i % 2, own = position[i / 2 % 2];
                if (at > own || at <= own - window) s[i] = -INFINITY;
            }
        }
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float largest = s[2 * r];
#pragma unroll
            for (int i = 0; i < LEN; i++)
                if (i / 2 % 2 == r) largest = fmaxf(largest, s[i]);
            change[r] = row[r].raise(row_max(largest), factor);
            const float base = row[r].base(factor);
            float sum = 0.0f;
#pragma unroll
            for (int i = 0; i < LEN; i++)
                if (i / 2 % 2 == r) {
                    s[i] = exp2_near(fmaf(s[i], factor, -base));
                    sum += s[i];
                }
            row[r].sum += sum;
        }
    }
};

template <class Cache, int HEAD_DIM, int GROUP, int TILE_Q_MAX, int TILE_KV_MAX>
__device__ __forceinline__ void attention_prefill(const Step& step, const bf16* q, const void* kv, const float* sinks, bf16* out, float scale,
                                                  int window, float soft_cap, int num_key_value_heads) {
    using Shape = PrefillShape<Cache, HEAD_DIM, TILE_Q_MAX, TILE_KV_MAX>;
    extern __shared__ unsigned char shared[];
    const PrefillTiles<Cache, Shape, HEAD_DIM> tiles(shared);
    const int thread = threadIdx.x, group = thread / 128, head = blockIdx.y;
    const int row_group = group % Shape::ROW_GROUPS, column_group = group / Shape::ROW_GROUPS;
    tiles.pad();

    wait_for_previous();
    if (blockIdx.z >= step.counts[COUNT_PREFILL]) return;
    const int sequence = step.prefill[blockIdx.z], tokens = step.length[sequence], start = step.start[sequence];
    // The longest rows first, so that no long block starts last.
    const int first_packed = (gridDim.x - 1 - blockIdx.x) * Shape::TILE_Q;
    if (first_packed >= tokens * GROUP) return;
    const long long first_row = step.first[sequence];
    const int first_position = start + first_packed / GROUP;
    const int last_position = start + min(tokens - 1, (first_packed + Shape::TILE_Q - 1) / GROUP);

    // Tiles start at multiples of their size, so that a row is summed in the same order wherever its span starts.
    const int seen = window > 0 ? window : INT_MAX / 2, limit = last_position + 1;
    const int begin = max(0, first_position - seen + 1) / Shape::TILE_KV * Shape::TILE_KV;
    const int count = ceil_div(limit - begin, Shape::TILE_KV);
    constexpr int ROW_BYTES = HEAD_DIM * sizeof(Cache);
    const unsigned char* keys = static_cast<const unsigned char*>(kv);
    const unsigned char* values = keys + static_cast<long long>(num_key_value_heads) * step.page_size * ROW_BYTES;
    if (thread < 3 * Shape::BLOCKS) {
        const int position = begin + thread * KV_BLOCK;
        tiles.blocks[thread] = key_offset(step, page_entry(step, sequence, position, limit), position, head, num_key_value_heads, ROW_BYTES);
    }
    constexpr int UNITS = HEAD_DIM / 8;
    const int heads = num_key_value_heads * GROUP;
    for (int i = thread; i < Shape::TILE_Q * UNITS; i += Shape::THREADS) {
        const int row = i / UNITS, unit = i % UNITS, packed = first_packed + row;
        const bool valid = packed < tokens * GROUP;
        const bf16* from = q + (valid ? ((first_row + packed / GROUP) * heads + head * GROUP + packed % GROUP) * HEAD_DIM + unit * 8 : 0);
        copy_16(tiles.q + swizzled(Shape::TILE_Q, row, unit), from, valid);
    }
    __syncthreads();
    tiles.copy(keys, 0, 0, begin, limit);
    commit_copies();
    start_next();
    wait_copies<0>();
    tiles.widen(0, 0);
    tiles.copy(keys, 0, 1, begin + Shape::TILE_KV, limit);
    tiles.copy(values, 1, 0, begin, limit);
    commit_copies();
    publish_to_products();
    __syncthreads();

    PrefillRows rows{{}, {}, seen, SoftCap(soft_cap, scale), soft_cap > 0.0f ? LOG2_E : scale * LOG2_E};
    const int own_packed = first_packed + row_group * 64 + thread % 128 / WARP * 16 + thread % WARP / 4;
#pragma unroll
    for (int r = 0; r < 2; r++) rows.position[r] = start + (own_packed + 8 * r) / GROUP;
    const auto masked = [&](int first) { return first + Shape::TILE_KV - 1 > first_position || first <= last_position - seen; };

    const unsigned own_q = shared_address(tiles.q) + row_group * 64 * CHUNK_ROW_BYTES, keys_at = shared_address(tiles.keys);
    const unsigned values_at = shared_address(tiles.values) + column_group * (Shape::COLUMNS / CHUNK) * Shape::TILE_KV * CHUNK_ROW_BYTES;
    float s[Shape::TILE_KV / 2], o[Shape::COLUMNS / 2], change[2];
    unsigned p[Shape::TILE_KV / 4];
#pragma unroll
    for (int i = 0; i < Shape::COLUMNS / 2; i++) o[i] = 0.0f;
    hold(s);
    begin_products();
    start_scores<Shape, HEAD_DIM>(s, own_q, keys_at);
    commit_products();
    wait_products<0>();
    hold(s);
    rows.weigh(s, begin, masked(begin), change);
#pragma unroll
    for (int i = 0; i < Shape::TILE_KV / 4; i++) p[i] = pack_bf16(s[2 * i], s[2 * i + 1]);
    wait_copies<0>();
    tiles.widen(0, 1);
    tiles.widen(1, 0);
    publish_to_products();
    __syncthreads();

    // Before each turn the keys of the next tile, the values of this one and its weights are there; the other two stages are free.
    for (int tile = 0; tile + 1 < count; tile++) {
        const int first = begin + tile * Shape::TILE_KV;
        hold(s);
        hold(o);
        hold(p);
        begin_products();
        start_scores<Shape, HEAD_DIM>(s, own_q, keys_at + (tile + 1) % 2 * Shape::TILE_BYTES);
        commit_products();
        start_values<Shape>(o, p, values_at + tile % 2 * Shape::TILE_BYTES);
        commit_products();
        // While the tensor cores work: the copies of the turn after, and the lookup of the one after that.
        tiles.copy(keys, 0, tile + 2, first + 2 * Shape::TILE_KV, limit);
        tiles.copy(values, 1, tile + 1, first + Shape::TILE_KV, limit);
        commit_copies();
        const int looked_up = first + 3 * Shape::TILE_KV + thread * KV_BLOCK;
        const int entry = thread < Shape::BLOCKS ? page_entry(step, sequence, looked_up, limit) : 0;
        wait_products<1>();
        hold(s);
        const int next = first + Shape::TILE_KV;
        rows.weigh(s, next, masked(next), change);
        hold(s);
        // This branch also keeps the assembler from waiting for the values before it has exponentiated the scores.
        if (thread < Shape::BLOCKS)
            tiles.blocks[(tile + 3) % Shape::KNOWN * Shape::BLOCKS + thread] =
                key_offset(step, entry, looked_up, head, num_key_value_heads, ROW_BYTES);
        wait_products<0>();
        hold(o);
        hold(p);
        // After the first tiles the largest score seldom changes.
        if (__any_sync(0xffffffff, change[0] != 1.0f || change[1] != 1.0f)) {
#pragma unroll
            for (int i = 0; i < Shape::COLUMNS / 2; i++) o[i] *= change[i / 2 % 2];
        }
#pragma unroll
        for (int i = 0; i < Shape::TILE_KV / 4; i++) p[i] = pack_bf16(s[2 * i], s[2 * i + 1]);
        wait_copies<0>();
        tiles.widen(0, tile + 2);
        tiles.widen(1, tile + 1);
        publish_to_products();
        __syncthreads();
    }
    hold(o);
    hold(p);
    begin_products();
    start_values<Shape>(o, p, values_at + (count - 1) % 2 * Shape::TILE_BYTES);
    commit_products();
    wait_products<0>();
    hold(o);

    float multiply[2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const float base = rows.row[r].base(rows.factor);
        float sum = row_sum(rows.row[r].sum);
        multiply[r] = 1.0f;
        if (sinks) {
            // The sink joins as one more weight without a value; it may be the largest.
            const float sink = LOG2_E * sinks[head * GROUP + (own_packed + 8 * r) % GROUP], top = fmaxf(sink, base);
            multiply[r] = exp2_near(base - top);
            sum = sum * multiply[r] + exp2_near(sink - top);
        }
        multiply[r] /= sum;
    }
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int packed = own_packed + 8 * r;
        if (packed >= tokens * GROUP) continue;
        bf16* to = out + ((first_row + packed / GROUP) * heads + head * GROUP + packed % GROUP) * HEAD_DIM;
#pragma unroll
        for (int i = 2 * r; i < Shape::COLUMNS / 2; i += 4) {
            const int column = column_group * Shape::COLUMNS + 8 * (i / 4);
            if (column < HEAD_DIM)
                *reinterpret_cast<unsigned*>(to + column + 2 * (thread % 4)) = pack_bf16(o[i] * multiply[r], o[i + 1] * multiply[r]);
        }
    }
}
