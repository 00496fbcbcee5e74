// The gated delta rule over spans of several tokens, in chunks: the WY form of arXiv 2412.06464, section 3.3.
//
// With `c` the running sum of g in a chunk and S the state before it, what tokens write is the solution U of a triangular system:
//     u_i = beta_i (v_i - exp(c_i) S k_i) - sum over j < i of beta_i (k_i k_j) exp(c_i - c_j) u_j
//     y_i = exp(c_i) S q_i + sum over j <= i of (q_i k_j) exp(c_i - c_j) u_j
//     S = exp(c_L) S + sum over j of u_j exp(c_L - c_j) k_j^T
// It is solved with the inverse of its matrix, which 16 x 16 parts on the diagonal and products make. A block computes up to 64 rows of one
// value head's state for one span. q, k and v are bf16 and exact on the tensor cores, so lengths of q and k are applied to products; S, U,
// the inverse and the weighted pairs are split into two bf16 each, which leaves 2^-16 of a product.
#pragma once
#include "sizes.cuh"
#include "chunk.cuh"
#include "delta.cuh"

template <int KEY_DIM, int CHUNK> struct alignas(1024) DeltaStage {
    static constexpr int TILES = ceil_div(KEY_DIM, TILE_COLUMNS), WIDTH = TILES * TILE_COLUMNS;
    unsigned char k[TILES * TILE_BYTES], q[TILES * TILE_BYTES];
    unsigned char v[TILE_BYTES];  // then y
    // [i][j]: the inverse of 1 + beta_i (k_i k_j) exp(c_i - c_j); while it is made, the negative of what is below its parts on the diagonal.
    unsigned char solve[TILE_BYTES], solve_low[TILE_BYTES];
    unsigned char seen[TILE_BYTES], seen_low[TILE_BYTES];  // [i][j]: (q_i k_j) exp(c_i - c_j)
    Decays<CHUNK> decays;
    float beta[CHUNK];
    float q_scale[CHUNK], k_scale[CHUNK];  // that make q and k of unit length, q over sqrt(KEY_DIM)
    float faded[CHUNK];                    // the scale of k times what is left at the last of its 16 tokens
    float known[CHUNK];                    // of S k_i: beta_i exp(c_i) and the length
    float shown[CHUNK];                    // of S q_i: exp(c_i) and the length
    float kept[CHUNK];                     // of u_j: exp(c_L - c_j) and the length of k
};

// The diagonal of a warp's 16 rows of a product of 64 rows with themselves: the element of row lane % 16.
template <int CHUNK> __device__ __forceinline__ float diagonal_of(int warp, int lane, const float (&product)[CHUNK / 2]) {
    // Row r of 8 has it in lane 4 r + r / 2, once for the rows above and once for those 8 below.
    const int r = lane % 8, holder = r * 4 + r / 2;
    float found = 0.0f;
#pragma unroll
    for (int below = 0; below < 2; below++) {
        float even = 0.0f, odd = 0.0f;
#pragma unroll
        for (int part = 0; part < CHUNK / MMA_TILE; part++) {
            const int at = (2 * part + below) * 4 + below * 2;
            if (part == warp) even = product[at], odd = product[at + 1];
        }
        even = __shfl_sync(0xffffffff, even, holder), odd = __shfl_sync(0xffffffff, odd, holder);
        if (below == lane / 8 % 2) found = r % 2 == 0 ? even : odd;
    }
    return found;
}

// Four floats of column j of a warp's part on the diagonal, in room that its weighted pairs take later.
template <int KEY_DIM, int CHUNK> __device__ __forceinline__ float4* part_of(DeltaStage<KEY_DIM, CHUNK>& stage, int at, int j, int four) {
    return reinterpret_cast<float4*>((four < 2 ? stage.seen : stage.seen_low) + swizzled(at + j, at / 8 + four % 2));
}

// The warp's 16 x 16 part on the diagonal, the negative of whose strictly lower triangle is in its room: the inverse of 1 + it. Lanes 0 .. 15
// compute a column each and store its high part, the others the same for its low part.
template <int KEY_DIM, int CHUNK> __device__ __forceinline__ void invert(int lane, DeltaStage<KEY_DIM, CHUNK>& stage, int at) {
    const int column = lane % MMA_TILE;
    unsigned char* to = lane < MMA_TILE ? stage.solve : stage.solve_low;
    float x[MMA_TILE];
#pragma unroll
    for (int i = 0; i < MMA_TILE; i++) x[i] = i == column ? 1.0f : 0.0f;
#pragma unroll
    for (int j = 0; j < MMA_TILE - 1; j++) {
        // x[j] is known, and leaves its share in all rows below.
#pragma unroll
        for (int four = j / 4; four < MMA_TILE / 4; four++) {
            const float4 rows = *part_of(stage, at, j, four);
            const float shares[4] = {rows.x, rows.y, rows.z, rows.w};
#pragma unroll
            for (int n = 0; n < 4; n++)
                if (four * 4 + n > j) x[four * 4 + n] += shares[n] * x[j];
        }
    }
#pragma unroll
    for (int i = 0; i < MMA_TILE; i++) {
        bf16 rounded = from_float<bf16>(x[i]);
        if (lane >= MMA_TILE) rounded = from_float<bf16>(x[i] - to_float(rounded));
        *reinterpret_cast<bf16*>(to + swizzled(at + i, (at + column) / 8) + column % 8 * 2) = rounded;
    }
}

// c += a b where a is split, and b is part (row, column) of an inverse or of what it is made of: three of the four products, for the fourth is
// 2^-16 of them. The large one and the small ones are summed apart, and do not wait for each other.
template <int KEY_DIM, int CHUNK>
__device__ __forceinline__ void add_part(int lane, float (&c)[2][PART_SHARE], const unsigned (&high)[4], const unsigned (&low)[4], DeltaStage<KEY_DIM, CHUNK>& stage, int row,
                                         int column) {
    unsigned b[4], b_low[4];
    load_matrices(b, by_rows(lane, stage.solve, row * MMA_TILE, column * MMA_TILE));
    load_matrices(b_low, by_rows(lane, stage.solve_low, row * MMA_TILE, column * MMA_TILE));
    warp_product(c[0], high, b);
    warp_product(c[1], low, b);
    warp_product(c[1], high, b_low);
}

// The inputs of a value head from the first token of a span.
struct DeltaInputs {
    const bf16* qkv;
    const float *a, *b;
    int q, k, v;               // where they lie in a token's row
    int width, heads, rows;  // elements from a token to the next, of a and b too; rows of the state
    float bias;
    double decay;  // to the base 2
};

// What a warp knows of a chunk before it is loaded: each lane of two of its tokens.
template <int CHUNK> struct DeltaLanes {
    static constexpr int EACH = CHUNK / WARP;
    float a[EACH], b[EACH];
    DecayLanes<CHUNK> decays;

    __device__ __forceinline__ void load(int lane, const DeltaInputs& from, int first, int tokens) {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const long long scalar = static_cast<long long>(first + min(lane * EACH + i, tokens - 1)) * from.heads;
            a[i] = from.a[scalar], b[i] = from.b[scalar];
        }
    }
    // What was loaded becomes decays and betas; past the last token nothing decays and nothing is written.
    __device__ __forceinline__ void finish(int lane, const DeltaInputs& from, int tokens) {
        double own[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const bool valid = lane * EACH + i < tokens;
            own[i] = valid ? from.decay * static_cast<double>(softplus(a[i] + from.bias)) : 0.0;
            b[i] = valid ? delta_beta(b[i]) : 0.0f;
        }
        decays.set(lane, own);
    }
    template <int KEY_DIM> __device__ __forceinline__ void store(int lane, DeltaStage<KEY_DIM, CHUNK>& stage) const {
        decays.store(lane, stage.decays);
#pragma unroll
        for (int i = 0; i < EACH; i++) stage.beta[lane * EACH + i] = b[i];
    }
};

// Loads a chunk, and computes everything that all rows of the state share; and as much of the chunk that this warpgroup prepares next, of
// `after` tokens from `then`, as can be known before there is room for it.
template <int KEY_DIM, int CHUNK>
__device__ __forceinline__ void prepare(int thread, const DeltaInputs& from, DeltaLanes<CHUNK>& lanes, DeltaStage<KEY_DIM, CHUNK>& stage, int first, int tokens,
                                        int then, int after) {
    using Stage = DeltaStage<KEY_DIM, CHUNK>;
    constexpr int PARTS = CHUNK / MMA_TILE;
    const int group = threadIdx.x / GROUP, warp = thread / WARP, lane = thread % WARP;
    const bf16 *row = from.qkv + static_cast<long long>(first) * from.width, *later = from.qkv + static_cast<long long>(then) * from.width;
    load_rows<Stage::TILES>(thread, stage.k, row + from.k, from.width, KEY_DIM, tokens);
    load_rows<Stage::TILES>(thread, stage.q, row + from.q, from.width, KEY_DIM, tokens);
    load_rows<1>(thread, stage.v, row + from.v, from.width, from.rows, tokens);
    commit_copies();
    if (warp == 0) expect_rows<1>(lane, later + from.v, from.width, after);
    if (warp == 1) expect_rows<Stage::TILES>(lane, later + from.k, from.width, after);
    if (warp == 2) expect_rows<Stage::TILES>(lane, later + from.q, from.width, after);
    if (warp == PARTS - 1) {
        lanes.store(lane, stage);
        if (after > 0) lanes.load(lane, from, then, after);
    }
    wait_copies<0>();
    written_for_products();
    prepared(group);
    float products[CHUNK / 2] = {};  // of queries with queries, of keys with keys, and of queries with keys
    const auto begin = [&](const unsigned char* x, const unsigned char* y) {
#pragma unroll
        for (int i = 0; i < CHUNK / 2; i++) products[i] = 0.0f;
        hold(products);
        products_begin();
        pairs<round_up(KEY_DIM, 16)>(products, x, y);
        products_commit();
    };
    const auto end = [&] {
        products_wait<0>();
        hold(products);
    };
    begin(stage.q, stage.q);
    end();
    const float of_query = diagonal_of<CHUNK>(warp, lane, products);
    begin(stage.k, stage.k);
    end();
    const int at = warp * MMA_TILE, i0 = at + lane / 4, token = at + lane % MMA_TILE;
    const float of_key = diagonal_of<CHUNK>(warp, lane, products);
    const float length = sqrtf((lane < MMA_TILE ? of_query : of_key) + DELTA_NORM_EPS);
    if (lane < MMA_TILE) {
        const float scale = 1.0f / (length * sqrtf(static_cast<float>(KEY_DIM)));
        stage.q_scale[token] = scale;
        stage.shown[token] = stage.decays.since_start[token] * scale;
    } else {
        const float scale = 1.0f / length;
        stage.k_scale[token] = scale;
        stage.faded[token] = scale * stage.decays.between(token | (MMA_TILE - 1), token);
        stage.known[token] = stage.beta[token] * stage.decays.since_start[token] * scale;
        stage.kept[token] = stage.decays.to_end[token] * scale;
    }
    prepared(group);
    weigh_pairs(thread, products, stage.decays, {-stage.beta[i0] * stage.k_scale[i0], -stage.beta[i0 + 8] * stage.k_scale[i0 + 8]}, stage.k_scale,
                stage.faded, [](int i, int j) { return j < i; });
    store_pairs<CHUNK>(thread, products, stage.solve, stage.solve_low, false);
    float own[PART_SHARE] = {};
#pragma unroll
    for (int part = 0; part < PARTS; part++)
#pragma unroll
        for (int i = 0; i < PART_SHARE; i++)
            if (part == warp) own[i] = products[part * PART_SHARE + i];
#pragma unroll
    for (int i = 0; i < PART_SHARE; i++) {
        const int below = lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        reinterpret_cast<float*>(part_of(stage, at, column, below / 4))[below % 4] = own[i];
    }
    begin(stage.q, stage.k);
    __syncwarp();
    invert(lane, stage, at);
    prepared(group);
    end();
    weigh_pairs(thread, products, stage.decays, {stage.q_scale[i0], stage.q_scale[i0 + 8]}, stage.k_scale, stage.faded,
                [](int i, int j) { return j <= i; });
    store_pairs<CHUNK>(thread, products, stage.seen, stage.seen_low, true);
    // The warp that has no part below its own.
    if (warp == PARTS - 1 && after > 0) lanes.finish(lane, from, after);
    // Below each part on the diagonal, X_i = T_ii (sum over j < i of -L_ij X_j), as transposed: a warp has a column of parts.
    unsigned x[PARTS][4] = {}, x_low[PARTS][4] = {};
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
        if (i < warp) continue;
        if (i == warp) {
            load_matrices_transposed(x[i], by_rows(lane, stage.solve, at, at));
            load_matrices_transposed(x_low[i], by_rows(lane, stage.solve_low, at, at));
            continue;
        }
        float sum[2][PART_SHARE] = {}, result[2][PART_SHARE] = {};
        unsigned high[4], low[4];
#pragma unroll
        for (int j = 0; j < i; j++)
            if (j >= warp) add_part(lane, sum, x[j], x_low[j], stage, i, j);
#pragma unroll
        for (int n = 0; n < PART_SHARE; n++) sum[0][n] += sum[1][n];
        split_columns(sum[0], 0, high, low);
        add_part(lane, result, high, low, stage, i, i);
#pragma unroll
        for (int n = 0; n < PART_SHARE; n++) result[0][n] += result[1][n];
        split_columns(result[0], 0, x[i], x_low[i]);
    }
    prepared(group);
#pragma unroll
    for (int i = 1; i < PARTS; i++) {
        if (i <= warp) continue;
        store_matrices_transposed(by_rows(lane, stage.solve, i * MMA_TILE, at), x[i]);
        store_matrices_transposed(by_rows(lane, stage.solve_low, i * MMA_TILE, at), x_low[i]);
    }
    written_for_products();
}

// c += a b^T where a is 64 columns, split, and b is split into two tiles.
__device__ __forceinline__ void add_split(float (&c)[TILE_SHARE], const unsigned (&high)[4][4], const unsigned (&low)[4][4], const unsigned char* tile_high, const unsigned char* tile_low) {
    const unsigned long long b = along_columns(shared_address(tile_high)), b_low = along_columns(shared_address(tile_low));
#pragma unroll
    for (int part = 0; part < 4; part++) {
        add_inner(c, high[part], b, part);
        add_inner(c, low[part], b, part);
        add_inner(c, high[part], b_low, part);
    }
}

template <int KEY_DIM, int VALUE_DIM, int CHUNK> __device__ __forceinline__ void delta_prefill(const Step& step, const Delta& layer) {
    using Stage = DeltaStage<KEY_DIM, CHUNK>;
    constexpr int WIDTH = Stage::WIDTH, PARTS = CHUNK / 16, DEPTHS = ceil_div(KEY_DIM, 16);
    extern __shared__ __align__(1024) unsigned char shared[];
    Stage* stages = reinterpret_cast<Stage*>(shared);
    const int first = blockIdx.x * ROWS_OF_BLOCK, head = blockIdx.y, rows = min(ROWS_OF_BLOCK, VALUE_DIM - first);
    const int group = threadIdx.x / GROUP, lane = threadIdx.x % WARP, column = threadIdx.x % GROUP / WARP * ROWS_OF_WARP;
    // Columns that only pad a matrix, and pairs of a token with a later one, take part in products, so they hold zeros.
    if constexpr (KEY_DIM % TILE_COLUMNS != 0) {
        clear(shared, STAGES * sizeof(Stage));
    } else {
        for (int i = 0; i < STAGES; i++) clear(stages[i].solve, 4 * TILE_BYTES);
    }
    written_for_products();
    wait_for_previous();
    if (static_cast<int>(blockIdx.z) >= step.counts[COUNT_PREFILL]) return;
    const int sequence = step.prefill[blockIdx.z];
    const Chunks<CHUNK> chunks(step, sequence);
    const long long y_width = layer.value_heads * VALUE_DIM;
    bf16* y = layer.y + chunks.first * y_width + head * VALUE_DIM + first;
    int slot = step.slot[sequence];
    if (slot < 0) {
        zero_outputs(y, y_width, chunks.length, rows);
        return;
    }
    slot = checked(step, slot, step.slots, ERROR_SLOT);
    __syncthreads();
    if (group > 0) {
        give_registers();
        const int width = 2 * layer.key_heads * KEY_DIM + layer.value_heads * VALUE_DIM, keys = layer.key_heads * KEY_DIM;
        const int q = head / (layer.value_heads / layer.key_heads) * KEY_DIM;
        const long long scalar = static_cast<long long>(chunks.first) * layer.value_heads + head;
        const DeltaInputs from = {layer.qkv + static_cast<long long>(chunks.first) * width, layer.a + scalar, layer.b + scalar, q, q + keys,
                                  2 * keys + head * VALUE_DIM + first, width, layer.value_heads, rows, layer.dt_bias[head],
                                  static_cast<double>(layer.decay[head]) * LOG2_E};
        DeltaLanes<CHUNK> lanes = {};
        if (group <= chunks.count) {
            lanes.load(lane, from, chunks.begin(group - 1), chunks.tokens(group - 1));
            lanes.finish(lane, from, chunks.tokens(group - 1));
        }
        for (int chunk = group - 1; chunk < chunks.count; chunk += PREPARING) {
            const int at = chunk % STAGES, later = chunk + PREPARING, after = later < chunks.count ? chunks.tokens(later) : 0;
            if (chunk >= STAGES) take_room(at);
            prepare(anew(threadIdx.x % GROUP), from, lanes, stages[at], chunks.begin(chunk), chunks.tokens(chunk), chunks.begin(later), after);
            give_stage(at);
        }
        start_next();
        return;
    }
    take_registers();
    float* memory = layer.states + ((static_cast<long long>(slot) * layer.value_heads + head) * VALUE_DIM + first + column) * KEY_DIM;
    float state[WIDTH / 2], u[CHUNK / 2], out[CHUNK / 2];
    load_state<KEY_DIM>(state, memory, rows - column, step.start[sequence] == 0);
    unsigned high[Stage::TILES][4][4], low[Stage::TILES][4][4];  // of the state
    const auto split_state = [&] {
#pragma unroll
        for (int slice = 0; slice < Stage::TILES; slice++) split_slice<DEPTHS>(state, slice, high[slice], low[slice]);
    };
    const auto add_state = [&](float(&to)[CHUNK / 2], const unsigned char* tokens) {
        const unsigned long long tiles = along_columns(shared_address(tokens));
#pragma unroll
        for (int i = 0; i < CHUNK / 2; i++) to[i] = 0.0f;
        hold(to);
        products_begin();
#pragma unroll
        for (int n = 0; n < DEPTHS; n++) {
            add_inner(to, high[n / 4][n % 4], tiles, n);
            add_inner(to, low[n / 4][n % 4], tiles, n);
        }
        products_commit();
    };
    const auto store = [&](int chunk) {
        store_outputs<CHUNK>(lane, out, stages[chunk % STAGES].v, column, y + chunks.begin(chunk) * y_width + column, y_width, chunks.tokens(chunk),
                             rows - column);
        if (chunk + STAGES < chunks.count) give_room(chunk % STAGES);
    };
    split_state();
    for (int chunk = 0; chunk < chunks.count; chunk++) {
        Stage& stage = stages[chunk % STAGES];
        take_stage(chunk % STAGES);
        add_state(u, stage.k);
        if (chunk > 0) store(chunk - 1);
        add_state(out, stage.q);
        products_wait<1>();
        hold(u);
        // What the tokens' values lack, before they have seen each other.
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            unsigned v[4];
            load_matrices_transposed(v, by_rows(lane, stage.v, part * 16, column));
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int token = part * 16 + i / 2 * 8 + lane % 4 * 2;
                const float2 beta = *reinterpret_cast<const float2*>(&stage.beta[token]), known = *reinterpret_cast<const float2*>(&stage.known[token]);
                u[part * 8 + 2 * i] = beta.x * low_half(v[i]) - known.x * u[part * 8 + 2 * i];
                u[part * 8 + 2 * i + 1] = beta.y * high_half(v[i]) - known.y * u[part * 8 + 2 * i + 1];
            }
        }
        const float whole = stage.decays.whole;
#pragma unroll
        for (int i = 0; i < WIDTH / 2; i++) state[i] *= whole;
        products_wait<0>();
        hold(out);
        unsigned u_high[PARTS][4], u_low[PARTS][4];
        split_slice<PARTS>(u, 0, u_high, u_low);
#pragma unroll
        for (int i = 0; i < CHUNK / 2; i++) u[i] = 0.0f;
        hold(u);
        products_begin();
        add_split(u, u_high, u_low, stage.solve, stage.solve_low);
        products_commit();
#pragma unroll
        for (int i = 0; i < CHUNK / 2; i += 4) {
            const float2 shown = *reinterpret_cast<const float2*>(&stage.shown[i * 2 + lane % 4 * 2]);
            out[i] *= shown.x, out[i + 1] *= shown.y;
            out[i + 2] *= shown.x, out[i + 3] *= shown.y;
        }
        products_wait<0>();
        hold(u);
        unsigned kept_high[PARTS][4], kept_low[PARTS][4];
        split_slice<PARTS>(u, 0, u_high, u_low);
#pragma unroll
        for (int i = 0; i < CHUNK / 2; i += 4) {
            const float2 kept = *reinterpret_cast<const float2*>(&stage.kept[i * 2 + lane % 4 * 2]);
            u[i] *= kept.x, u[i + 1] *= kept.y;
            u[i + 2] *= kept.x, u[i + 3] *= kept.y;
        }
        split_slice<PARTS>(u, 0, kept_high, kept_low);
        const unsigned long long k = down_rows(shared_address(stage.k), TILE_BYTES);
        hold(state);
        products_begin();
#pragma unroll
        for (int part = 0; part < PARTS; part++) add_outer<WIDTH>(state, kept_high[part], kept_low[part], k, part);
        products_commit();
        hold(out);
        products_begin();
        add_split(out, u_high, u_low, stage.seen, stage.seen_low);
        products_commit();
        products_wait<1>();
        hold(state);
        split_state();
        products_wait<0>();
        hold(out);
    }
    store(chunks.count - 1);
    start_next();
    store_state<KEY_DIM>(state, memory, rows - column);
}
