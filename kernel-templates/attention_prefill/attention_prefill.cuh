// Causal attention of spans of several tokens over the paged cache. The query heads of a key-value head are packed into the rows of a
// tile, so that they share its keys and values. One warpgroup copies tiles of the cache; each of the others computes 64 rows: the scores of
// the next tile of positions and the weighted values of this one are in the tensor cores while it exponentiates, and warpgroups take turns
// there, so that one exponentiates while another multiplies. Past 256 dimensions two warpgroups share 64 rows and split the columns of
// the values.
#pragma once
#include "kv_tile.cuh"
#include "manifest.cuh"
#include "pipeline.cuh"
#include "softmax.cuh"
#include "wgmma.cuh"

// The tiles that fit registers and shared memory: TILE_Q and TILE_KV are upper limits. TEMPLATE.toml computes the same.
template <class Cache, int HEAD_DIM, int TILE_Q_MAX, int TILE_KV_MAX> struct PrefillShape {
    static_assert(HEAD_DIM % 8 == 0 && HEAD_DIM <= 512, "rows of whole 16-byte units, and at most 256 columns for a warpgroup");
    static constexpr bool WIDEN = sizeof(Cache) == 1;
    static constexpr int Q_ROOM = HEAD_DIM <= 64 && !WIDEN ? 192 : HEAD_DIM <= 256 ? 128 : 64;
    static constexpr int KV_ROOM = HEAD_DIM <= 128 ? 128 : HEAD_DIM <= 256 ? (WIDEN ? 64 : 80) : 32;
    static constexpr int TILE_Q = TILE_Q_MAX < Q_ROOM ? TILE_Q_MAX : Q_ROOM;
    static constexpr int TILE_KV = TILE_KV_MAX < KV_ROOM ? TILE_KV_MAX : KV_ROOM;
    static constexpr int ROW_GROUPS = TILE_Q / 64;
    static constexpr int COLUMN_GROUPS = ceil_div(HEAD_DIM, 256);
    static constexpr int GROUPS = ROW_GROUPS * COLUMN_GROUPS, COMPUTING = 128 * GROUPS, COPYING = 128;
    static constexpr int THREADS = COMPUTING + COPYING;
    // What the copying warpgroup leaves to the others, of the registers that all threads have at the start.
    static constexpr int COPY_REGISTERS = GROUPS == 3 ? 32 : 56, COMPUTE_REGISTERS = GROUPS == 3 ? 160 : 224;
    static constexpr int CHUNKS = COLUMN_GROUPS * ceil_div(ceil_div(HEAD_DIM, CHUNK), COLUMN_GROUPS);
    // Columns of the values that a warpgroup sums. Those past HEAD_DIM are never stored, so what they are computed from does not matter.
    static constexpr int COLUMNS = CHUNK * CHUNKS / COLUMN_GROUPS;
    static constexpr int TILE_BYTES = TILE_KV * CHUNKS * CHUNK_ROW_BYTES, Q_BYTES = TILE_Q * CHUNKS * CHUNK_ROW_BYTES;
    static constexpr int RAW_BYTES = WIDEN ? TILE_KV * HEAD_DIM : 0;
    // Tiles of each kind that are being read or on their way.
    static constexpr int STAGES = 2;
    static constexpr int BARRIER_BYTES = 4 * STAGES * sizeof(Barrier);
    static_assert(GROUPS >= 1 && GROUPS <= 3 && TILE_Q % 64 == 0 && TILE_KV % KV_BLOCK == 0, "a warpgroup has 64 rows, and tiles are whole products");
    static_assert(CHUNK_ALIGNMENT + Q_BYTES + 2 * STAGES * TILE_BYTES + 2 * RAW_BYTES + BARRIER_BYTES <= 232448, "shared memory of a block");
};

// Shared memory of a block, and what moves tiles into it.
template <class Cache, class Shape, int HEAD_DIM> struct PrefillTiles {
    unsigned char *q, *keys, *values, *raw;
    // Per kind (0: keys, 1: values) and stage.
    Barrier *full, *empty;

    __device__ __forceinline__ explicit PrefillTiles(unsigned char* shared) {
        q = shared + (CHUNK_ALIGNMENT - shared_address(shared) % CHUNK_ALIGNMENT) % CHUNK_ALIGNMENT;
        keys = q + Shape::Q_BYTES;
        values = keys + Shape::STAGES * Shape::TILE_BYTES;
        raw = values + Shape::STAGES * Shape::TILE_BYTES;
        full = reinterpret_cast<Barrier*>(raw + 2 * Shape::RAW_BYTES);
        empty = full + 2 * Shape::STAGES;
    }

    // A stage is full when every copying thread has copied its part, and empty when every computing warp is done with it.
    __device__ __forceinline__ void make_barriers() const {
        if (threadIdx.x >= 2 * Shape::STAGES) return;
        make_barrier(full + threadIdx.x, Shape::COPYING);
        make_barrier(empty + threadIdx.x, Shape::COMPUTING / WARP);
    }

    // Columns from HEAD_DIM to the next multiple of 16 count in products, so queries and keys have zeros there, which no copy touches.
    __device__ __forceinline__ void pad() const {
        if constexpr (HEAD_DIM % 16 != 0) {
            const uint4 zeros = make_uint4(0, 0, 0, 0);
            for (int row = threadIdx.x; row < Shape::TILE_Q; row += Shape::THREADS)
                *reinterpret_cast<uint4*>(q + swizzled(Shape::TILE_Q, row, HEAD_DIM / 8)) = zeros;
            for (int row = threadIdx.x; row < Shape::STAGES * Shape::TILE_KV; row += Shape::THREADS) {
                unsigned char* stage = keys + row / Shape::TILE_KV * Shape::TILE_BYTES;
                *reinterpret_cast<uint4*>(stage + swizzled(Shape::TILE_KV, row % Shape::TILE_KV, HEAD_DIM / 8)) = zeros;
            }
            publish_to_products();
        }
    }

    // Where a tile of keys (`what` 0) or values (1) goes, and its barriers.
    static __device__ __forceinline__ int stage(int what, int tile) { return what * Shape::STAGES + tile % Shape::STAGES; }
    __device__ __forceinline__ unsigned char* at(int what, int tile) const { return keys + stage(what, tile) * Shape::TILE_BYTES; }

    // By who copies: waits until the tile before it in its stage has been read.
    __device__ __forceinline__ void wait_empty(int what, int tile) const { wait_phase(empty + stage(what, tile), tile / Shape::STAGES % 2 ^ 1); }
    // By who computes: waits until a tile is there.
    __device__ __forceinline__ void wait(int what, int tile) const {
        wait_phase(full + stage(what, tile), tile / Shape::STAGES % 2);
        publish_to_products();
    }
    // This warp is done with a tile.
    __device__ __forceinline__ void release(int what, int tile) const {
        if (threadIdx.x % WARP == 0) arrive(empty + stage(what, tile));
    }
};

// What the copying warpgroup does: keys of tile 0, then of each next tile before the values of this one.
template <class Cache, class Shape, int HEAD_DIM> struct PrefillCopies {
    const PrefillTiles<Cache, Shape, HEAD_DIM>& tiles;
    const unsigned char* cache[2];
    int begin, limit, thread, turn = 0, under_way = -1;

    // Starts the copy of a tile, of which lane b has the row of block b. Of fp8 it goes to the room for raw tiles, while the one before it
    // is widened.
    __device__ __forceinline__ void copy(int what, int tile, int block_row) {
        using Pieces = KvPieces<Cache, HEAD_DIM, Shape::TILE_KV, Shape::COPYING>;
        unsigned char* stage = tiles.at(what, tile);
        const int first = begin + tile * Shape::TILE_KV;
        if constexpr (Shape::WIDEN) {
            unsigned char* staged = tiles.raw + turn % 2 * Shape::RAW_BYTES;
            copy_kv_blocks<Cache, HEAD_DIM, Shape::TILE_KV, Shape::COPYING, HEAD_DIM>(
                cache[what], block_row, first, limit, thread, [&](int row, int piece) { return staged + row * HEAD_DIM + piece * Pieces::BYTES; });
            commit_copies();
            if (under_way >= 0) {
                wait_copies<1>();
                widen();
            }
            under_way = 2 * tile + what;
            turn++;
        } else {
            tiles.wait_empty(what, tile);
            copy_kv_blocks<Cache, HEAD_DIM, Shape::TILE_KV, Shape::COPYING, CHUNK_ROW_BYTES>(
                cache[what], block_row, first, limit, thread, [&](int row, int piece) { return stage + swizzled(Shape::TILE_KV, row, piece); });
            arrive_with_copies(tiles.full + tiles.stage(what, tile));
        }
    }

    // What this thread copied before what `turn` copies becomes bf16 in its stage.
    __device__ __forceinline__ void widen() const {
        const int what = under_way % 2, tile = under_way / 2;
        unsigned char* stage = tiles.at(what, tile);
        tiles.wait_empty(what, tile);
        widen_kv<HEAD_DIM, Shape::TILE_KV, Shape::COPYING, CHUNK_ROW_BYTES>(
            tiles.raw + (turn + 1) % 2 * Shape::RAW_BYTES, thread, [&](int row, int unit) { return stage + swizzled(Shape::TILE_KV, row, unit); });
        publish_to_products();
        arrive(tiles.full + tiles.stage(what, tile));
    }

    __device__ __forceinline__ void run(const Step& step, int sequence, int count, int head, int heads) {
        const int block = thread % WARP * KV_BLOCK;
        const auto look_up = [&](int tile) {
            const int position = begin + tile * Shape::TILE_KV + block;
            return block < Shape::TILE_KV ? page_entry(step, sequence, position, limit) : 0;
        };
        const auto row_of = [&](int tile, int entry) { return key_row(step, entry, begin + tile * Shape::TILE_KV + block, head, heads); };
        const int first_entry = look_up(0), second_entry = look_up(1);
        int now = row_of(0, first_entry), next = row_of(1, second_entry);
        copy(0, 0, now);
        for (int tile = 0; tile < count; tile++) {
            const int entry = look_up(tile + 2);
            if (tile + 1 < count) copy(0, tile + 1, next);
            copy(1, tile, now);
            now = next;
            next = row_of(tile + 2, entry);
        }
        if constexpr (Shape::WIDEN) {
            wait_copies<0>();
            widen();
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
    constexpr int WIDE = Shape::COLUMNS == 256 ? 256 : 128;
    const unsigned long long b = operand(values, CHUNK_BYTES);
#pragma unroll
    for (int k = 0; k < Shape::TILE_KV / 16; k++) {
        const unsigned rows = k * 16 * CHUNK_ROW_BYTES;
#pragma unroll
        for (int column = 0; column + WIDE <= Shape::COLUMNS; column += WIDE)
            ValueProduct<WIDE>::add(o + column / 2, p + 4 * k, further(b, rows + column / CHUNK * CHUNK_BYTES));
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

    // Scores of positions `first` .. become weights; returns in `change` what earlier sums are multiplied by. `ahead` and `behind`: some row
    // does not see the last or the first of them.
    template <int LEN> __device__ __forceinline__ void weigh(float (&s)[LEN], int first, bool ahead, bool behind, float (&change)[2]) {
        if (soft_cap.cap > 0.0f) {
#pragma unroll
            for (int i = 0; i < LEN; i++) s[i] = soft_cap.of(s[i]);
        }
        const int column = first + 2 * (threadIdx.x % 4);
        const auto position_of = [&](int i) { return column + 8 * (i / 4) + i % 2; };
        if (ahead) {
#pragma unroll
            for (int i = 0; i < LEN; i++)
                if (position_of(i) > position[i / 2 % 2]) s[i] = -INFINITY;
        }
        if (behind) {
#pragma unroll
            for (int i = 0; i < LEN; i++)
                if (position_of(i) <= position[i / 2 % 2] - window) s[i] = -INFINITY;
        }
#pragma unroll
        for (int r = 0; r < 2; r++) {
            // Two chains, which do not wait for each other.
            float largest = s[2 * r], other = s[2 * r + 1];
#pragma unroll
            for (int i = 4 + 2 * r; i < LEN; i += 4) {
                largest = fmaxf(largest, s[i]);
                other = fmaxf(other, s[i + 1]);
            }
            largest = fmaxf(largest, other);
            change[r] = row[r].raise_seldom(row_max(largest), factor);
            const float base = row[r].base(factor);
            float sum = 0.0f, other_sum = 0.0f;
#pragma unroll
            for (int i = 2 * r; i < LEN; i += 4) {
                s[i] = exp2_near(fmaf(s[i], factor, -base));
                s[i + 1] = exp2_near(fmaf(s[i + 1], factor, -base));
                sum += s[i];
                other_sum += s[i + 1];
            }
            row[r].sum += sum + other_sum;
        }
    }
};

template <class Cache, int HEAD_DIM, int GROUP, int TILE_Q_MAX, int TILE_KV_MAX>
__device__ __forceinline__ void attention_prefill(const Step& step, const bf16* q, const void* kv, const float* sinks, bf16* out, float scale,
                                                  int window, float soft_cap, int num_key_value_heads) {
    using Shape = PrefillShape<Cache, HEAD_DIM, TILE_Q_MAX, TILE_KV_MAX>;
    extern __shared__ unsigned char shared[];
    const PrefillTiles<Cache, Shape, HEAD_DIM> tiles(shared);
    // The same in all lanes, and the compiler knows.
    const int thread = threadIdx.x, group = __shfl_sync(0xffffffff, thread / 128, 0), head = blockIdx.y;
    tiles.pad();
    tiles.make_barriers();

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
    __syncthreads();

    if (group == Shape::GROUPS) {
        if constexpr (Shape::GROUPS > 1) leave_registers<Shape::COPY_REGISTERS>();
        const unsigned char* keys = static_cast<const unsigned char*>(kv);
        const unsigned char* values = keys + static_cast<long long>(num_key_value_heads) * step.page_size * (HEAD_DIM * static_cast<int>(sizeof(Cache)));
        PrefillCopies<Cache, Shape, HEAD_DIM> copies{tiles, {keys, values}, begin, limit, static_cast<int>(threadIdx.x % Shape::COPYING)};
        copies.run(step, sequence, count, head, num_key_value_heads);
        return;
    }
    if constexpr (Shape::GROUPS > 1) take_registers<Shape::COMPUTE_REGISTERS>();
    const int row_group = group % Shape::ROW_GROUPS, column_group = group / Shape::ROW_GROUPS;
    constexpr int UNITS = HEAD_DIM / 8;
    const int heads = num_key_value_heads * GROUP;
    for (int i = thread; i < Shape::TILE_Q * UNITS; i += Shape::COMPUTING) {
        const int row = i / UNITS, unit = i % UNITS, packed = first_packed + row;
        const bool valid = packed < tokens * GROUP;
        const bf16* from = q + (valid ? ((first_row + packed / GROUP) * heads + head * GROUP + packed % GROUP) * HEAD_DIM + unit * 8 : 0);
        copy_16(tiles.q + swizzled(Shape::TILE_Q, row, unit), from, valid);
    }
    commit_copies();
    start_next();

    PrefillRows rows{{}, {}, seen, SoftCap(soft_cap, scale), soft_cap > 0.0f ? LOG2_E : scale * LOG2_E};
    const int own_packed = first_packed + row_group * 64 + thread % 128 / WARP * 16 + thread % WARP / 4;
#pragma unroll
    for (int r = 0; r < 2; r++) rows.position[r] = start + (own_packed + 8 * r) / GROUP;
    float s[Shape::TILE_KV / 2], change[2];
    const auto weigh = [&](int first) {
        rows.weigh(s, first, first + Shape::TILE_KV - 1 > first_position, first <= last_position - seen, change);
    };
    // Warpgroups start products one after another: each waits for the one before it, so that their exponentials fall apart.
    constexpr int QUERIES_THERE = 1, FIRST_TURN = 2;
    const int next_group = group + 1 < Shape::GROUPS ? group + 1 : 0;

    const unsigned own_q = shared_address(tiles.q) + row_group * 64 * CHUNK_ROW_BYTES, keys_at = shared_address(tiles.keys);
    const unsigned values_at = shared_address(tiles.values) + column_group * (Shape::COLUMNS / CHUNK) * Shape::TILE_KV * CHUNK_ROW_BYTES;
    float o[Shape::COLUMNS / 2];
    unsigned p[Shape::TILE_KV / 4];
#pragma unroll
    for (int i = 0; i < Shape::COLUMNS / 2; i++) o[i] = 0.0f;
    wait_copies<0>();
    publish_to_products();
    meet_at(QUERIES_THERE, Shape::COMPUTING);
    tiles.wait(0, 0);
    hold(s);
    begin_products();
    start_scores<Shape, HEAD_DIM>(s, own_q, keys_at);
    commit_products();
    wait_products<0>();
    hold(s);
    tiles.release(0, 0);
    weigh(begin);
#pragma unroll
    for (int i = 0; i < Shape::TILE_KV / 4; i++) p[i] = pack_bf16(s[2 * i], s[2 * i + 1]);

    if (count > 1) tiles.wait(0, 1);
    for (int tile = 0; tile + 1 < count; tile++) {
        const int next = begin + (tile + 1) * Shape::TILE_KV;
        if (Shape::GROUPS > 1 && (tile > 0 || group > 0)) meet_at(FIRST_TURN + group, 256);
        hold(s);
        hold(o);
        hold(p);
        begin_products();
        start_scores<Shape, HEAD_DIM>(s, own_q, keys_at + (tile + 1) % Shape::STAGES * Shape::TILE_BYTES);
        commit_products();
        tiles.wait(1, tile);
        start_values<Shape>(o, p, values_at + tile % Shape::STAGES * Shape::TILE_BYTES);
        commit_products();
        // The last one of the last turn has nobody after it.
        if (Shape::GROUPS > 1 && (tile + 2 < count || group + 1 < Shape::GROUPS)) pass_by(FIRST_TURN + next_group, 256);
        wait_products<1>();
        hold(s);
        tiles.release(0, tile + 1);
        weigh(next);
        hold(s);
        // Waiting here also keeps the assembler from waiting for the values before it has exponentiated the scores.
        if (tile + 2 < count) tiles.wait(0, tile + 2);
        wait_products<0>();
        hold(o);
        hold(p);
        tiles.release(1, tile);
        // After the first tiles no largest score is raised.
        if (__any_sync(0xffffffff, change[0] != 1.0f || change[1] != 1.0f)) {
#pragma unroll
            for (int i = 0; i < Shape::COLUMNS / 2; i++) o[i] *= change[i / 2 % 2];
        }
#pragma unroll
        for (int i = 0; i < Shape::TILE_KV / 4; i++) p[i] = pack_bf16(s[2 * i], s[2 * i + 1]);
    }
    tiles.wait(1, count - 1);
    hold(o);
    hold(p);
    begin_products();
    start_values<Shape>(o, p, values_at + (count - 1) % Shape::STAGES * Shape::TILE_BYTES);
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
