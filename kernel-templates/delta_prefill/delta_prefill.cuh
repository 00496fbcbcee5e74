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

// The sum of squares of row `row` + lane % 16 of one of two matrices, by a warp: the diagonals of the products of 16 rows with themselves.
template <int DEPTH> __device__ __forceinline__ float squares(int lane, bool of_first, unsigned char* first, unsigned char* second, int row) {
    float sums[2][PART_SHARE] = {};
#pragma unroll
    for (int k = 0; k < DEPTH; k += MMA_TILE) {
        const int tile = k / TILE_COLUMNS * TILE_BYTES, column = k % TILE_COLUMNS;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            unsigned b[4];
            load_matrices(b, by_rows(lane, (i == 0 ? first : second) + tile, row, column));
            const unsigned a[4] = {b[0], b[2], b[1], b[3]};
            warp_product(sums[i], a, b);
        }
    }
    // Row r of 8 has its diagonal in lane 4 r + r / 2, once left, and once right for the row 8 below.
    const int r = lane % 8, holder = r * 4 + r / 2;
    float found = 0.0f;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int below = 0; below < 2; below++) {
            const int at = below * (PART_SHARE / 2 + 2);
            const float even = __shfl_sync(0xffffffff, sums[i][at], holder), odd = __shfl_sync(0xffffffff, sums[i][at + 1], holder);
            if ((i == 0) == of_first && below == lane / 8 % 2) found = r % 2 == 0 ? even : odd;
        }
    return found;
}

// Four floats of row i of a warp's part on the diagonal, in room that its weighted pairs take later.
template <int KEY_DIM, int CHUNK> __device__ __forceinline__ float4* part_of(DeltaStage<KEY_DIM, CHUNK>& stage, int at, int i, int four) {
    return reinterpret_cast<float4*>((four < 2 ? stage.seen : stage.seen_low) + swizzled(at + i, at / 8 + four % 2));
}

// The warp's 16 x 16 part on the diagonal, the negative of whose strictly lower triangle is in its room: the inverse of 1 + it. Lanes 0 .. 15 compute a column
// each and store its high part, the others the same for its low part.
template <int KEY_DIM, int CHUNK> __device__ __forceinline__ void invert(int lane, DeltaStage<KEY_DIM, CHUNK>& stage, int at) {
    const int column = lane % MMA_TILE;
    unsigned char* to = lane < MMA_TILE ? stage.solve : stage.solve_low;
    float x[MMA_TILE];
#pragma unroll
    for (int i = 0; i < MMA_TILE; i++) {
        float sums[2] = {i == column ? 1.0f : 0.0f, 0.0f};
#pragma unroll
        for (int j = 0; j < i; j += 4) {
            const float4 four = *part_of(stage, at, i, j / 4);
            sums[0] += four.x * x[j];
            if (j + 1 < i) sums[1] += four.y * x[j + 1];
            if (j + 2 < i) sums[0] += four.z * x[j + 2];
            if (j + 3 < i) sums[1] += four.w * x[j + 3];
        }
        x[i] = sums[0] + sums[1];
    }
#pragma unroll
    for (int i = 0; i < MMA_TILE; i++) {
        bf16 rounded = from_float<bf16>(x[i]);
        if (lane >= MMA_TILE) rounded = from_float<bf16>(x[i] - to_float(rounded));
        *reinterpret_cast<bf16*>(to + swizzled(at + i, (at + column) / 8) + column % 8 * 2) = rounded;
    }
}

// c += a b where a is split, and b is part (row, column) of an inverse or of what it is made of: three of the four products, for the fourth is
// 2^-16 of them, in sums of their own that do not wait for each other.
template <int KEY_DIM, int CHUNK>
__device__ __forceinline__ void add_part(int lane, float (&c)[3][PART_SHARE], const unsigned (&high)[4], const unsigned (&low)[4], DeltaStage<KEY_DIM, CHUNK>& stage, int row,
                                         int column) {
    unsigned b[4], b_low[4];
    load_matrices(b, by_rows(lane, stage.solve, row * MMA_TILE, column * MMA_TILE));
    load_matrices(b_low, by_rows(lane, stage.solve_low, row * MMA_TILE, column * MMA_TILE));
    warp_product(c[0], high, b);
    warp_product(c[1], low, b);
    warp_product(c[2], high, b_low);
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

// Asks for a chunk that this warpgroup prepares later.
template <int KEY_DIM> __device__ __forceinline__ void expect(int thread, const DeltaInputs& from, int first, int tokens) {
    constexpr int TILES = ceil_div(KEY_DIM, TILE_COLUMNS);
    const bf16* row = from.qkv + static_cast<long long>(first) * from.width;
    expect_rows<TILES>(thread, row + from.q, from.width, tokens);
    expect_rows<TILES>(thread, row + from.k, from.width, tokens);
    expect_rows<1>(thread, row + from.v, from.width, tokens);
}

// What a chunk's tokens say of themselves, two of them in each lane of a warp.
template <int CHUNK> struct DeltaScalars {
    static constexpr int EACH = CHUNK / WARP;
    float a[EACH], b[EACH];

    // By the first warp of a warpgroup, which alone needs them.
    __device__ __forceinline__ void load(int thread, const DeltaInputs& from, int first, int tokens) {
        if (thread >= WARP) return;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const long long scalar = static_cast<long long>(first + min(thread * EACH + i, tokens - 1)) * from.heads;
            a[i] = from.a[scalar], b[i] = from.b[scalar];
        }
    }
};

// Loads a chunk, and computes everything that all rows of the state share. For a preparing warpgroup.
template <int KEY_DIM, int CHUNK>
__device__ __forceinline__ void prepare(int thread, const DeltaInputs& from, const DeltaScalars<CHUNK>& scalars, DeltaStage<KEY_DIM, CHUNK>& stage, int first,
                                        int tokens) {
    using Stage = DeltaStage<KEY_DIM, CHUNK>;
    constexpr int PARTS = CHUNK / MMA_TILE, EACH = CHUNK / WARP;
    const int group = threadIdx.x / GROUP, warp = thread / WARP, lane = thread % WARP;
    const bf16* row = from.qkv + static_cast<long long>(first) * from.width;
    load_rows<Stage::TILES>(thread, stage.k, row + from.k, from.width, KEY_DIM, tokens);
    load_rows<Stage::TILES>(thread, stage.q, row + from.q, from.width, KEY_DIM, tokens);
    load_rows<1>(thread, stage.v, row + from.v, from.width, from.rows, tokens);
    commit_copies();
    if (warp == 0) {
        double own[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int at = lane * EACH + i;
            own[i] = at < tokens ? from.decay * static_cast<double>(softplus(scalars.a[i] + from.bias)) : 0.0;
            stage.beta[at] = at < tokens ? delta_beta(scalars.b[i]) : 0.0f;
        }
        set_decays<CHUNK>(stage.decays, own);
    }
    wait_copies<0>();
    written_for_products();
    prepared(group);
    float products[CHUNK / 2] = {};  // of keys with keys, then of queries with keys
    products_begin();
    pairs<round_up(KEY_DIM, 16)>(products, stage.k, stage.k);
    products_commit();
    const float square = squares<KEY_DIM>(lane, lane < MMA_TILE, stage.q, stage.k, warp * MMA_TILE), length = sqrtf(square + DELTA_NORM_EPS);
    const int token = warp * MMA_TILE + lane % MMA_TILE;
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
    products_wait<0>();
    hold(products);
    const int at = warp * MMA_TILE;
    const int i0 = at + lane / 4;
    const auto before = [](int i, int j) { return j < i; };
    const auto up_to = [](int i, int j) { return j <= i; };
    weigh_pairs(thread, products, stage.decays, {-stage.beta[i0] * stage.k_scale[i0], -stage.beta[i0 + 8] * stage.k_scale[i0 + 8]}, stage.k_scale, stage.faded, before,
                [&](int i, int j, float first, float second) { store_pair(stage.solve, stage.solve_low, i, j, first, second); },
                [&](int i, int j, float first, float second) {
                    reinterpret_cast<float2*>(part_of(stage, at, i - at, (j - at) / 4))[j % 4 / 2] = make_float2(first, second);
                });
    hold(products);
    products_begin();
    pairs<round_up(KEY_DIM, 16)>(products, stage.q, stage.k);
    products_commit();
    __syncwarp();
    invert(lane, stage, at);
    prepared(group);
    products_wait<0>();
    hold(products);
    const auto store = [&](int i, int j, float first, float second) { store_pair(stage.seen, stage.seen_low, i, j, first, second); };
    weigh_pairs(thread, products, stage.decays, {stage.q_scale[i0], stage.q_scale[i0 + 8]}, stage.k_scale, stage.faded, up_to, store, store);
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
        float sum[3][PART_SHARE] = {}, result[3][PART_SHARE] = {};
        unsigned high[4], low[4];
#pragma unroll
        for (int j = 0; j < i; j++)
            if (j >= warp) add_part(lane, sum, x[j], x_low[j], stage, i, j);
#pragma unroll
        for (int n = 0; n < PART_SHARE; n++) sum[0][n] += sum[1][n] + sum[2][n];
        split_columns(sum[0], 0, high, low);
        add_part(lane, result, high, low, stage, i, i);
#pragma unroll
        for (int n = 0; n < PART_SHARE; n++) result[0][n] += result[1][n] + result[2][n];
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
        DeltaScalars<CHUNK> scalars = {}, next = {};
        if (group <= chunks.count) next.load(threadIdx.x % GROUP, from, chunks.begin(group - 1), chunks.tokens(group - 1));
        for (int chunk = group - 1; chunk < chunks.count; chunk += PREPARING) {
            const int at = chunk % STAGES, later = chunk + PREPARING, thread = anew(threadIdx.x % GROUP);
            if (chunk >= STAGES) take_room(at);
            scalars = next;
            if (later < chunks.count) {
                next.load(thread, from, chunks.begin(later), chunks.tokens(later));
                expect<KEY_DIM>(thread, from, chunks.begin(later), chunks.tokens(later));
            }
            prepare(thread, from, scalars, stages[at], chunks.begin(chunk), chunks.tokens(chunk));
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
