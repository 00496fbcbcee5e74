// The recurrence of Mamba2 over spans of several tokens, in chunks (state space duality, arXiv 2405.21060, section 6).
//
// With `a` the running sum of d A in a chunk, S the state before it and G = C B^T:
//     y_i = exp(a_i) C_i S + sum over j <= i of G_ij exp(a_i - a_j) d_j x_j + D x_i
//     S = exp(a_L) S + sum over j of B_j exp(a_L - a_j) d_j x_j
// A block computes up to 64 rows of one head's state for one span. Inputs are bf16 and exact on the tensor cores; S, the weighted G and
// the weighted x are split into two bf16 each, which leaves 2^-16 of a product.
#pragma once
#include "chunk.cuh"
#include "mamba2.cuh"

template <int STATE, int CHUNK> struct ScanStage {
    static constexpr int DEPTH = round_up(STATE, 16), STRIDE = DEPTH + ROW_PAD, PAIRS = CHUNK + ROW_PAD;
    alignas(16) bf16 c[CHUNK * STRIDE];
    bf16 b[CHUNK * STRIDE];
    bf16 x[CHUNK * ROWS_STRIDE];                       // then y
    bf16 weighted[CHUNK * PAIRS], weighted_low[CHUNK * PAIRS];  // [i][j]: G_ij exp(a_i - a_j) d_j
    Decays<CHUNK> decays;
    float step[CHUNK];     // d
    float written[CHUNK];  // d_j exp(a_L - a_j)
};

// Loads a chunk, of `tokens` before `after` of the next, and computes its time steps, decays and weighted pairs. For the preparing warps.
template <int HEAD_DIM, int STATE, int CHUNK>
__device__ __forceinline__ void prepare(const Mamba2& layer, ScanStage<STATE, CHUNK>& stage, int row, int tokens, int after, int head, int first,
                                        int rows) {
    using Stage = ScanStage<STATE, CHUNK>;
    const long long width = layer.heads * HEAD_DIM + 2 * layer.groups * STATE;
    const int group = head / (layer.heads / layer.groups);
    const bf16* x = layer.xbc + row * width;
    const bf16* b = x + layer.heads * HEAD_DIM + group * STATE;
    load_rows<CHUNK>(stage.c, Stage::STRIDE, b + layer.groups * STATE, width, STATE, tokens);
    load_rows<CHUNK>(stage.b, Stage::STRIDE, b, width, STATE, tokens);
    load_rows<CHUNK>(stage.x, ROWS_STRIDE, x + head * HEAD_DIM + first, width, rows, tokens);
    commit_copies();
    const long long next = tokens * width;
    expect_rows(b + next, width, STATE, after);
    expect_rows(b + layer.groups * STATE + next, width, STATE, after);
    expect_rows(x + head * HEAD_DIM + first + next, width, rows, after);
    expect_rows(layer.dt + static_cast<long long>(row + tokens) * layer.heads + head, layer.heads, 1, after);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    if (warp == 0) {
        constexpr int EACH = CHUNK / WARP;
        const float bias = layer.dt_bias[head];
        const double decay = static_cast<double>(layer.decay[head]) * LOG2_E;
        double own[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int at = lane * EACH + i;
            float step = 0.0f;
            if (at < tokens) step = time_step(layer.dt[static_cast<long long>(row + at) * layer.heads + head] + bias, layer.time_step_min);
            stage.step[at] = step;
            own[i] = decay * static_cast<double>(step);
        }
        set_decays<CHUNK>(stage.decays, own);
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int at = lane * EACH + i;
            stage.written[at] = stage.step[at] * stage.decays.to_end[at];
        }
    }
    wait_copies<0>();
    prepared();
    constexpr int TILES = CHUNK / 16;
    for (int n = warp; n < TILES * (TILES + 1) / 2; n += PREPARING) {
        int part_row, part_column;
        lower_part(n, part_row, part_column);
        const int i0 = part_row * 16, j0 = part_column * 16;
        float left[4], right[4];
        pairs<Stage::DEPTH>(left, right, stage.c + i0 * Stage::STRIDE, stage.b + j0 * Stage::STRIDE, Stage::STRIDE);
        const int at = i0 * Stage::PAIRS + j0;
        store_pairs(left, right, stage.weighted + at, stage.weighted_low + at, Stage::PAIRS, [&](int i, int j, float product) {
            i += i0, j += j0;
            return j <= i ? product * stage.decays.between(i, j) * stage.step[j] : 0.0f;
        });
    }
}

// Outputs of a chunk for the 16 rows of this warp, and their state after it. `column` is where they stand in a row of `stage.x`.
template <int STATE, int CHUNK, int TILES>
__device__ __forceinline__ void apply(ScanStage<STATE, CHUNK>& stage, float (&state)[TILES][4], float (&y)[CHUNK / 8][4], int column, float d) {
    using Stage = ScanStage<STATE, CHUNK>;
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int tile = 0; tile < CHUNK / 8; tile++) y[tile][0] = y[tile][1] = y[tile][2] = y[tile][3] = 0.0f;
#pragma unroll
    for (int k = 0; k < TILES / 2; k++) {
        unsigned high[4], low[4];
        split_columns(state[2 * k], state[2 * k + 1], high, low);
        // Products of different tokens between two that add to the same sum.
        unsigned c[CHUNK / 16][4];
#pragma unroll
        for (int part = 0; part < CHUNK / 16; part++)
            load_matrices(c[part], by_rows(stage.c + part * 16 * Stage::STRIDE + k * 16, Stage::STRIDE));
#pragma unroll
        for (int part = 0; part < CHUNK / 16; part++) product(y[2 * part], y[2 * part + 1], high, c[part]);
#pragma unroll
        for (int part = 0; part < CHUNK / 16; part++) product(y[2 * part], y[2 * part + 1], low, c[part]);
    }
#pragma unroll
    for (int tile = 0; tile < CHUNK / 8; tile++) {
        const float2 decay = *reinterpret_cast<const float2*>(&stage.decays.since_start[tile * 8 + lane % 4 * 2]);
        y[tile][0] *= decay.x, y[tile][2] *= decay.x;
        y[tile][1] *= decay.y, y[tile][3] *= decay.y;
    }
    const float whole = stage.decays.whole;
#pragma unroll
    for (int tile = 0; tile < TILES; tile++)
#pragma unroll
        for (int i = 0; i < 4; i++) state[tile][i] *= whole;
#pragma unroll
    for (int from = 0; from < CHUNK / 16; from++) {
        unsigned x[4], high[4], low[4];
        load_matrices_transposed(x, by_rows(stage.x + from * 16 * ROWS_STRIDE + column, ROWS_STRIDE));
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float(&to)[4] = y[2 * from + i / 2];
            to[i % 2 * 2] += d * low_half(x[i]);
            to[i % 2 * 2 + 1] += d * high_half(x[i]);
            const float2 weight = *reinterpret_cast<const float2*>(&stage.written[from * 16 + i / 2 * 8 + lane % 4 * 2]);
            split(weight.x * low_half(x[i]), weight.y * high_half(x[i]), high[i], low[i]);
        }
#pragma unroll
        for (int part = from; part < CHUNK / 16; part += 2) {
            unsigned g[2][4], g_low[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const int at = (part + i) * 16 * Stage::PAIRS + from * 16;
                if (part + i < CHUNK / 16) load_matrices(g[i], by_rows(stage.weighted + at, Stage::PAIRS));
                if (part + i < CHUNK / 16) load_matrices(g_low[i], by_rows(stage.weighted_low + at, Stage::PAIRS));
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
                if (part + i < CHUNK / 16) product(y[2 * (part + i)], y[2 * (part + i) + 1], x, g[i]);
#pragma unroll
            for (int i = 0; i < 2; i++)
                if (part + i < CHUNK / 16) product(y[2 * (part + i)], y[2 * (part + i) + 1], x, g_low[i]);
        }
        add_to_state(state, high, low, stage.b + from * 16 * Stage::STRIDE, Stage::STRIDE);
    }
}

template <int HEAD_DIM, int STATE, int CHUNK> __device__ __forceinline__ void mamba2_scan(const Step& step, const Mamba2& layer) {
    using Stage = ScanStage<STATE, CHUNK>;
    constexpr int TILES = Stage::DEPTH / 8;
    extern __shared__ __align__(16) unsigned char shared[];
    Stage* stages = reinterpret_cast<Stage*>(shared);
    const int first = blockIdx.x * ROWS_OF_BLOCK, head = blockIdx.y, rows = min(ROWS_OF_BLOCK, HEAD_DIM - first);
    const int warp = threadIdx.x / WARP, column = (warp - PREPARING) * ROWS_OF_WARP;
    // Columns that only pad a matrix take part in products, so they hold zeros.
    for (int i = threadIdx.x; i < static_cast<int>(2 * sizeof(Stage) / 16); i += CHUNK_THREADS)
        reinterpret_cast<uint4*>(shared)[i] = make_uint4(0, 0, 0, 0);
    wait_for_previous();
    if (static_cast<int>(blockIdx.z) >= step.counts[COUNT_PREFILL]) return;
    const int sequence = step.prefill[blockIdx.z];
    const Chunks<CHUNK> chunks(step, sequence);
    const long long y_width = layer.heads * HEAD_DIM;
    bf16* y = layer.y + chunks.first * y_width + head * HEAD_DIM + first;
    int slot = step.slot[sequence];
    if (slot < 0) {
        zero_outputs(y, y_width, chunks.length, rows);
        return;
    }
    slot = checked(step, slot, step.slots, ERROR_SLOT);
    meet();
    if (warp < PREPARING) {
        for (int chunk = 0; chunk < chunks.count; chunk++) {
            prepare<HEAD_DIM>(layer, stages[chunk % 2], chunks.first + chunks.begin(chunk), chunks.tokens(chunk),
                              chunk + 1 < chunks.count ? chunks.tokens(chunk + 1) : 0, head, first, rows);
            meet();
        }
        start_next();
        return;
    }
    const bool works = column < rows;
    float* memory = layer.states + ((static_cast<long long>(slot) * layer.heads + head) * HEAD_DIM + first + column) * STATE;
    const float d = layer.d[head];
    float state[TILES][4];
    if (works) load_state<STATE>(state, memory, rows - column, step.start[sequence] == 0);
    for (int chunk = 0; chunk < chunks.count; chunk++) {
        Stage& stage = stages[chunk % 2];
        meet();
        if (!works) continue;
        float out[CHUNK / 8][4];
        apply(stage, state, out, column, d);
        bf16* to = y + chunks.begin(chunk) * y_width + column;
        store_outputs<CHUNK>(out, stage.x + column, to, y_width, chunks.tokens(chunk), rows - column);
    }
    start_next();
    if (works) store_state<STATE>(state, memory, rows - column);
}
