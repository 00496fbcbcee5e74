// The gated delta rule over spans of several tokens, in chunks: the WY form of arXiv 2412.06464, section 3.3.
//
// With `c` the running sum of g in a chunk and S the state before it, what tokens write is the solution U of a triangular system:
//     u_i = beta_i (v_i - exp(c_i) S k_i) - sum over j < i of beta_i (k_i k_j) exp(c_i - c_j) u_j
//     y_i = exp(c_i) S q_i + sum over j <= i of (q_i k_j) exp(c_i - c_j) u_j
//     S = exp(c_L) S + sum over j of u_j exp(c_L - c_j) k_j^T
// It is solved 16 tokens at a time, with inverses of the 16 x 16 parts on the diagonal. A block computes up to 64 rows of one value head's
// state for one span. q, k and v are bf16 and exact on the tensor cores, so lengths of q and k are applied to products; S, U and the
// weighted pairs are split into two bf16 each, which leaves 2^-16 of a product.
#pragma once
#include "sizes.cuh"
#include "chunk.cuh"
#include "delta.cuh"

template <int KEY_DIM, int CHUNK> struct DeltaStage {
    static constexpr int DEPTH = round_up(KEY_DIM, 16), STRIDE = DEPTH + ROW_PAD, PAIRS = CHUNK + ROW_PAD;
    alignas(16) bf16 k[CHUNK * STRIDE];
    bf16 q[CHUNK * STRIDE];
    bf16 v[CHUNK * ROWS_STRIDE];  // then y
    // [i][j]: -beta_i (k_i k_j) exp(c_i - c_j) below the 16 x 16 parts on the diagonal; on it, the inverse of 1 + the same without its sign.
    bf16 solve[CHUNK * PAIRS], solve_low[CHUNK * PAIRS];
    bf16 seen[CHUNK * PAIRS], seen_low[CHUNK * PAIRS];  // [i][j]: (q_i k_j) exp(c_i - c_j)
    Decays<CHUNK> decays;
    float beta[CHUNK];
    float q_scale[CHUNK], k_scale[CHUNK];  // that make q and k of unit length, q over sqrt(KEY_DIM)
};

// A 16 x 16 part on the diagonal, whose strictly lower triangle is in `part`: the inverse of 1 + it, into `high` and `low`. By one warp.
__device__ __forceinline__ void invert(const float (&part)[MMA_TILE * MMA_TILE], bf16* high, bf16* low, int stride) {
    const int column = threadIdx.x % 16;
    float x[16];
#pragma unroll
    for (int i = 0; i < 16; i++) {
        float even = i == column ? 1.0f : 0.0f, odd = 0.0f;
#pragma unroll
        for (int j = 0; j < i; j++) (j % 2 == 0 ? even : odd) -= part[i * 16 + j] * x[j];
        x[i] = even + odd;
    }
    if (threadIdx.x % WARP < 16) {
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const bf16 rounded = from_float<bf16>(x[i]);
            high[i * stride + column] = rounded;
            low[i * stride + column] = from_float<bf16>(x[i] - to_float(rounded));
        }
    }
}

// Loads a chunk, of `tokens` before `after` of the next, and computes everything that all rows of the state share. For the preparing warps.
template <int VALUE_DIM, int KEY_DIM, int CHUNK>
__device__ __forceinline__ void prepare(const Delta& layer, DeltaStage<KEY_DIM, CHUNK>& stage, float (*room)[MMA_TILE * MMA_TILE], int row, int tokens,
                                        int after, int head, int first, int rows) {
    using Stage = DeltaStage<KEY_DIM, CHUNK>;
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int key_head = head / (layer.value_heads / layer.key_heads);
    const long long width = 2 * layer.key_heads * KEY_DIM + layer.value_heads * VALUE_DIM;
    const bf16* q = layer.qkv + row * width + key_head * KEY_DIM;
    load_rows<CHUNK>(stage.k, Stage::STRIDE, q + layer.key_heads * KEY_DIM, width, KEY_DIM, tokens);
    load_rows<CHUNK>(stage.q, Stage::STRIDE, q, width, KEY_DIM, tokens);
    const bf16* v = layer.qkv + row * width + 2 * layer.key_heads * KEY_DIM + head * VALUE_DIM + first;
    load_rows<CHUNK>(stage.v, ROWS_STRIDE, v, width, rows, tokens);
    commit_copies();
    const long long next = tokens * width;
    expect_rows(q + layer.key_heads * KEY_DIM + next, width, KEY_DIM, after);
    expect_rows(q + next, width, KEY_DIM, after);
    expect_rows(v + next, width, rows, after);
    const long long next_scalar = static_cast<long long>(row + tokens) * layer.value_heads + head;
    expect_rows(layer.a + next_scalar, layer.value_heads, 1, after);
    expect_rows(layer.b + next_scalar, layer.value_heads, 1, after);
    if (warp == 0) {
        constexpr int EACH = CHUNK / WARP;
        const double decay = static_cast<double>(layer.decay[head]) * LOG2_E;
        const float bias = layer.dt_bias[head];
        double own[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int at = lane * EACH + i;
            const long long scalar = static_cast<long long>(row + at) * layer.value_heads + head;
            const bool valid = at < tokens;
            own[i] = valid ? decay * static_cast<double>(softplus(layer.a[scalar] + bias)) : 0.0;
            stage.beta[at] = valid ? delta_beta(layer.b[scalar]) : 0.0f;
        }
        set_decays<CHUNK>(stage.decays, own);
    }
    wait_copies<0>();
    prepared();
    for (int i = threadIdx.x; i < 2 * CHUNK; i += PREPARING * WARP) {
        const bool of_query = i < CHUNK;
        const int token = i % CHUNK;
        const bf16* from = (of_query ? stage.q : stage.k) + token * Stage::STRIDE;
        float squares = 0.0f;
#pragma unroll 4
        for (int n = 0; n < KEY_DIM; n += 8) {
            const uint4 eight = *reinterpret_cast<const uint4*>(from + n);
            for (unsigned two : {eight.x, eight.y, eight.z, eight.w}) squares += low_half(two) * low_half(two) + high_half(two) * high_half(two);
        }
        const float length = sqrtf(squares + DELTA_NORM_EPS);
        if (of_query) stage.q_scale[token] = 1.0f / (length * sqrtf(static_cast<float>(KEY_DIM)));
        else stage.k_scale[token] = 1.0f / length;
    }
    prepared();
    constexpr int PARTS = CHUNK / 16, BELOW = PARTS * (PARTS - 1) / 2;
    float left[4], right[4];
    for (int part = warp; part < PARTS; part += PREPARING) {
        const int at = part * 16;
        const bf16* k = stage.k + at * Stage::STRIDE;
        pairs<Stage::DEPTH>(left, right, k, k, Stage::STRIDE);
#pragma unroll
        for (int n = 0; n < 8; n++) {
            const int i = lane / 4 + n / 2 % 2 * 8, j = lane % 4 * 2 + n % 2 + n / 4 * 8;
            const float product = n < 4 ? left[n % 4] : right[n % 4];
            const float scale = stage.beta[at + i] * stage.k_scale[at + i] * stage.k_scale[at + j];
            room[warp][i * 16 + j] = j < i ? product * scale * stage.decays.between(at + i, at + j) : 0.0f;
        }
        __syncwarp();
        invert(room[warp], stage.solve + at * (Stage::PAIRS + 1), stage.solve_low + at * (Stage::PAIRS + 1), Stage::PAIRS);
        __syncwarp();
    }
    // Parts below the diagonal of keys with keys, then parts up to the diagonal of queries with keys.
    for (int n = warp; n < BELOW + BELOW + PARTS; n += PREPARING) {
        const bool of_keys = n < BELOW;
        int part_row, part_column;
        lower_part(of_keys ? n : n - BELOW, part_row, part_column);
        const int i0 = (part_row + of_keys) * 16, j0 = part_column * 16;
        const bf16* x = (of_keys ? stage.k : stage.q) + i0 * Stage::STRIDE;
        pairs<Stage::DEPTH>(left, right, x, stage.k + j0 * Stage::STRIDE, Stage::STRIDE);
        const int at = i0 * Stage::PAIRS + j0;
        bf16* high = (of_keys ? stage.solve : stage.seen) + at;
        bf16* low = (of_keys ? stage.solve_low : stage.seen_low) + at;
        store_pairs(left, right, high, low, Stage::PAIRS, [&](int i, int j, float product) {
            i += i0, j += j0;
            const float scale = of_keys ? -stage.beta[i] * stage.k_scale[i] : stage.q_scale[i];
            return j <= i ? product * (scale * stage.k_scale[j]) * stage.decays.between(i, j) : 0.0f;
        });
    }
}

// Outputs of a chunk for the 16 rows of this warp, and their state after it. `column` is where they stand in a row of `stage.v`.
template <int KEY_DIM, int CHUNK, int TILES>
__device__ __forceinline__ void apply(DeltaStage<KEY_DIM, CHUNK>& stage, float (&state)[TILES][4], float (&y)[CHUNK / 8][4], int column) {
    using Stage = DeltaStage<KEY_DIM, CHUNK>;
    constexpr int PARTS = CHUNK / 16;
    const int lane = threadIdx.x % WARP;
    float u[CHUNK / 8][4];  // S k, then what is left to write, then what is written
#pragma unroll
    for (int tile = 0; tile < CHUNK / 8; tile++)
#pragma unroll
        for (int i = 0; i < 4; i++) y[tile][i] = u[tile][i] = 0.0f;
#pragma unroll
    for (int n = 0; n < TILES / 2; n++) {
        unsigned high[4], low[4];
        split_columns(state[2 * n], state[2 * n + 1], high, low);
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            unsigned k[4], q[4];
            load_matrices(k, by_rows(stage.k + part * 16 * Stage::STRIDE + n * 16, Stage::STRIDE));
            load_matrices(q, by_rows(stage.q + part * 16 * Stage::STRIDE + n * 16, Stage::STRIDE));
            product(u[2 * part], u[2 * part + 1], high, k);
            product(y[2 * part], y[2 * part + 1], high, q);
            product(u[2 * part], u[2 * part + 1], low, k);
            product(y[2 * part], y[2 * part + 1], low, q);
        }
    }
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        unsigned v[4];
        load_matrices_transposed(v, by_rows(stage.v + part * 16 * ROWS_STRIDE + column, ROWS_STRIDE));
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int token = part * 16 + half * 8 + lane % 4 * 2;
            float(&u_at)[4] = u[2 * part + half];
            float(&y_at)[4] = y[2 * part + half];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const float since = stage.decays.since_start[token + i], beta = stage.beta[token + i];
                const float known = since * stage.k_scale[token + i], shown = since * stage.q_scale[token + i];
#pragma unroll
                for (int below = 0; below < 2; below++) {
                    const unsigned two = v[half * 2 + below];
                    u_at[below * 2 + i] = beta * ((i == 0 ? low_half(two) : high_half(two)) - known * u_at[below * 2 + i]);
                    y_at[below * 2 + i] *= shown;
                }
            }
        }
    }
    const float whole = stage.decays.whole;
#pragma unroll
    for (int tile = 0; tile < TILES; tile++)
#pragma unroll
        for (int i = 0; i < 4; i++) state[tile][i] *= whole;
#pragma unroll
    for (int from = 0; from < PARTS; from++) {
        unsigned high[4], low[4];
        float(&left)[4] = u[2 * from];
        float(&right)[4] = u[2 * from + 1];
        split_columns(left, right, high, low);
#pragma unroll
        for (int i = 0; i < 4; i++) left[i] = right[i] = 0.0f;
        const int diagonal = from * 16 * (Stage::PAIRS + 1);
        product_of_splits(left, right, high, low, stage.solve + diagonal, stage.solve_low + diagonal, Stage::PAIRS);
        split_columns(left, right, high, low);
#pragma unroll
        for (int part = from; part < PARTS; part++) {
            const int at = part * 16 * Stage::PAIRS + from * 16;
            // What is left to write, and the outputs, in turns: so no product waits for the one before it.
            unsigned solve[4], solve_low[4], seen[4], seen_low[4];
            float(&u_left)[4] = u[2 * part];
            float(&u_right)[4] = u[2 * part + 1];
            load_matrices(seen, by_rows(stage.seen + at, Stage::PAIRS));
            load_matrices(seen_low, by_rows(stage.seen_low + at, Stage::PAIRS));
            if (part > from) {
                load_matrices(solve, by_rows(stage.solve + at, Stage::PAIRS));
                load_matrices(solve_low, by_rows(stage.solve_low + at, Stage::PAIRS));
                product(u_left, u_right, high, solve);
            }
            product(y[2 * part], y[2 * part + 1], high, seen);
            if (part > from) product(u_left, u_right, low, solve);
            product(y[2 * part], y[2 * part + 1], low, seen);
            if (part > from) product(u_left, u_right, high, solve_low);
            product(y[2 * part], y[2 * part + 1], high, seen_low);
        }
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const int token = from * 16 + half * 8 + lane % 4 * 2 + i;
                const float weight = stage.decays.to_end[token] * stage.k_scale[token];
                u[2 * from + half][i] *= weight, u[2 * from + half][2 + i] *= weight;
            }
        split_columns(left, right, high, low);
        add_to_state(state, high, low, stage.k + from * 16 * Stage::STRIDE, Stage::STRIDE);
    }
}

template <int KEY_DIM, int VALUE_DIM, int CHUNK> __device__ __forceinline__ void delta_prefill(const Step& step, const Delta& layer) {
    using Stage = DeltaStage<KEY_DIM, CHUNK>;
    constexpr int TILES = Stage::DEPTH / 8;
    extern __shared__ __align__(16) unsigned char shared[];
    Stage* stages = reinterpret_cast<Stage*>(shared);
    float(*room)[MMA_TILE * MMA_TILE] = reinterpret_cast<float(*)[MMA_TILE * MMA_TILE]>(stages + 2);
    const int first = blockIdx.x * ROWS_OF_BLOCK, head = blockIdx.y, rows = min(ROWS_OF_BLOCK, VALUE_DIM - first);
    const int warp = threadIdx.x / WARP, column = (warp - PREPARING) * ROWS_OF_WARP;
    // Columns that only pad a matrix take part in products, so they hold zeros.
    for (int i = threadIdx.x; i < static_cast<int>(2 * sizeof(Stage) / 16); i += CHUNK_THREADS)
        reinterpret_cast<uint4*>(shared)[i] = make_uint4(0, 0, 0, 0);
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
    meet();
    if (warp < PREPARING) {
        for (int chunk = 0; chunk < chunks.count; chunk++) {
            prepare<VALUE_DIM>(layer, stages[chunk % 2], room, chunks.first + chunks.begin(chunk), chunks.tokens(chunk),
                               chunk + 1 < chunks.count ? chunks.tokens(chunk + 1) : 0, head, first, rows);
            meet();
        }
        start_next();
        return;
    }
    const bool works = column < rows;
    float* memory = layer.states + ((static_cast<long long>(slot) * layer.value_heads + head) * VALUE_DIM + first + column) * KEY_DIM;
    float state[TILES][4];
    if (works) load_state<KEY_DIM>(state, memory, rows - column, step.start[sequence] == 0);
    for (int chunk = 0; chunk < chunks.count; chunk++) {
        Stage& stage = stages[chunk % 2];
        meet();
        if (!works) continue;
        float out[CHUNK / 8][4];
        apply(stage, state, out, column);
        bf16* to = y + chunks.begin(chunk) * y_width + column;
        store_outputs<CHUNK>(out, stage.v + column, to, y_width, chunks.tokens(chunk), rows - column);
    }
    start_next();
    if (works) store_state<KEY_DIM>(state, memory, rows - column);
}
