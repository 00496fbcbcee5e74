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

template <int STATE, int CHUNK> struct alignas(1024) ScanStage {
    static constexpr int TILES = ceil_div(STATE, TILE_COLUMNS), WIDTH = TILES * TILE_COLUMNS;
    unsigned char c[TILES * TILE_BYTES], b[TILES * TILE_BYTES];
    unsigned char x[TILE_BYTES];                                // then y
    unsigned char weighted[TILE_BYTES], weighted_low[TILE_BYTES];  // [i][j]: G_ij exp(a_i - a_j) d_j
    Decays<CHUNK> decays;
    float step[CHUNK];     // d
    float faded[CHUNK];    // d_j times what is left at the last of its 16 tokens
    float written[CHUNK];  // d_j exp(a_L - a_j)
};

// The inputs of a head from the first token of a span.
struct ScanInputs {
    const bf16 *x, *b, *c;
    const float* dt;
    int width, heads, rows;  // elements from a token to the next, of dt too; rows of the state
    float bias, least;
    double decay;  // to the base 2
};

// Asks for a chunk that this warpgroup prepares later.
template <int STATE> __device__ __forceinline__ void expect(int thread, const ScanInputs& from, int first, int tokens) {
    constexpr int TILES = ceil_div(STATE, TILE_COLUMNS);
    const long long at = static_cast<long long>(first) * from.width;
    expect_rows<TILES>(thread, from.b + at, from.width, tokens);
    expect_rows<TILES>(thread, from.c + at, from.width, tokens);
    expect_rows<1>(thread, from.x + at, from.width, tokens);
}

// What a chunk's tokens say of their time steps, two of them in each lane of a warp.
template <int CHUNK> struct ScanScalars {
    static constexpr int EACH = CHUNK / WARP;
    float dt[EACH];

    // By the first warp of a warpgroup, which alone needs them.
    __device__ __forceinline__ void load(int thread, const ScanInputs& from, int first, int tokens) {
        if (thread >= WARP) return;
#pragma unroll
        for (int i = 0; i < EACH; i++) dt[i] = from.dt[static_cast<long long>(first + min(thread * EACH + i, tokens - 1)) * from.heads];
    }
};

// Loads a chunk, and computes its time steps, decays and weighted pairs. For a preparing warpgroup.
template <int STATE, int CHUNK>
__device__ __forceinline__ void prepare(int thread, const ScanInputs& from, const ScanScalars<CHUNK>& scalars, ScanStage<STATE, CHUNK>& stage, int first, int tokens) {
    using Stage = ScanStage<STATE, CHUNK>;
    constexpr int EACH = CHUNK / WARP;
    const int warp = thread / WARP, lane = thread % WARP;
    const long long at = static_cast<long long>(first) * from.width;
    load_rows<Stage::TILES>(thread, stage.c, from.c + at, from.width, STATE, tokens);
    load_rows<Stage::TILES>(thread, stage.b, from.b + at, from.width, STATE, tokens);
    load_rows<1>(thread, stage.x, from.x + at, from.width, from.rows, tokens);
    commit_copies();
    if (warp == 0) {
        double own[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const float step = lane * EACH + i < tokens ? time_step(scalars.dt[i] + from.bias, from.least) : 0.0f;
            stage.step[lane * EACH + i] = step;
            own[i] = from.decay * static_cast<double>(step);
        }
        set_decays<CHUNK>(stage.decays, own);
        __syncwarp();
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int at = lane * EACH + i;
            stage.written[at] = stage.step[at] * stage.decays.to_end[at];
            stage.faded[at] = stage.step[at] * stage.decays.between(at | (MMA_TILE - 1), at);
        }
    }
    wait_copies<0>();
    written_for_products();
    prepared(threadIdx.x / GROUP);
    float g[CHUNK / 2] = {};
    products_begin();
    pairs<round_up(STATE, 16)>(g, stage.c, stage.b);
    products_commit();
    products_wait<0>();
    hold(g);
    const auto store = [&](int i, int j, float first, float second) { store_pair(stage.weighted, stage.weighted_low, i, j, first, second); };
    weigh_pairs(thread, g, stage.decays, {1.0f, 1.0f}, stage.step, stage.faded, [](int i, int j) { return j <= i; }, store, store);
    written_for_products();
}

template <int HEAD_DIM, int STATE, int CHUNK> __device__ __forceinline__ void mamba2_scan(const Step& step, const Mamba2& layer) {
    using Stage = ScanStage<STATE, CHUNK>;
    constexpr int WIDTH = Stage::WIDTH, PARTS = CHUNK / 16, DEPTHS = ceil_div(STATE, 16);
    extern __shared__ __align__(1024) unsigned char shared[];
    Stage* stages = reinterpret_cast<Stage*>(shared);
    const int first = blockIdx.x * ROWS_OF_BLOCK, head = blockIdx.y, rows = min(ROWS_OF_BLOCK, HEAD_DIM - first);
    const int group = threadIdx.x / GROUP, lane = threadIdx.x % WARP, column = threadIdx.x % GROUP / WARP * ROWS_OF_WARP;
    // Columns that only pad a matrix, and pairs of a token with a later one, take part in products, so they hold zeros.
    if constexpr (STATE % TILE_COLUMNS != 0) {
        clear(shared, STAGES * sizeof(Stage));
    } else {
        for (int i = 0; i < STAGES; i++) clear(stages[i].weighted, 2 * TILE_BYTES);
    }
    written_for_products();
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
    __syncthreads();
    if (group > 0) {
        give_registers();
        const int width = layer.heads * HEAD_DIM + 2 * layer.groups * STATE;
        const bf16* x = layer.xbc + static_cast<long long>(chunks.first) * width;
        const bf16* b = x + layer.heads * HEAD_DIM + head / (layer.heads / layer.groups) * STATE;
        const ScanInputs from = {x + head * HEAD_DIM + first, b, b + layer.groups * STATE, layer.dt + static_cast<long long>(chunks.first) * layer.heads + head,
                                 width, layer.heads, rows, layer.dt_bias[head], layer.time_step_min, static_cast<double>(layer.decay[head]) * LOG2_E};
        ScanScalars<CHUNK> scalars = {}, next = {};
        if (group <= chunks.count) next.load(threadIdx.x % GROUP, from, chunks.begin(group - 1), chunks.tokens(group - 1));
        for (int chunk = group - 1; chunk < chunks.count; chunk += PREPARING) {
            const int at = chunk % STAGES, later = chunk + PREPARING, thread = anew(threadIdx.x % GROUP);
            if (chunk >= STAGES) take_room(at);
            scalars = next;
            if (later < chunks.count) {
                next.load(thread, from, chunks.begin(later), chunks.tokens(later));
                expect<STATE>(thread, from, chunks.begin(later), chunks.tokens(later));
            }
            prepare(thread, from, scalars, stages[at], chunks.begin(chunk), chunks.tokens(chunk));
            give_stage(at);
        }
        start_next();
        return;
    }
    take_registers();
    float* memory = layer.states + ((static_cast<long long>(slot) * layer.heads + head) * HEAD_DIM + first + column) * STATE;
    const float d = layer.d[head];
    float state[WIDTH / 2], out[CHUNK / 2];
    load_state<STATE>(state, memory, rows - column, step.start[sequence] == 0);
    unsigned high[Stage::TILES][4][4], low[Stage::TILES][4][4];
    const auto split_state = [&] {
#pragma unroll
        for (int slice = 0; slice < Stage::TILES; slice++) split_slice<DEPTHS>(state, slice, high[slice], low[slice]);
    };
    const auto store = [&](int chunk) {
        store_outputs<CHUNK>(lane, out, stages[chunk % STAGES].x, column, y + chunks.begin(chunk) * y_width + column, y_width, chunks.tokens(chunk),
                             rows - column);
        if (chunk + STAGES < chunks.count) give_room(chunk % STAGES);
    };
    split_state();
    for (int chunk = 0; chunk < chunks.count; chunk++) {
        Stage& stage = stages[chunk % STAGES];
        take_stage(chunk % STAGES);
        const unsigned long long b = down_rows(shared_address(stage.b), TILE_BYTES), c = along_columns(shared_address(stage.c));
        const unsigned long long weighted = along_columns(shared_address(stage.weighted)), weighted_low = along_columns(shared_address(stage.weighted_low));
        unsigned written[PARTS][4], written_low[PARTS][4];
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            unsigned x[4];
            load_matrices_transposed(x, by_rows(lane, stage.x, part * 16, column));
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float2 weight = *reinterpret_cast<const float2*>(&stage.written[part * 16 + i / 2 * 8 + lane % 4 * 2]);
                split(weight.x * low_half(x[i]), weight.y * high_half(x[i]), written[part][i], written_low[part][i]);
            }
        }
        const float whole = stage.decays.whole;
#pragma unroll
        for (int i = 0; i < WIDTH / 2; i++) state[i] *= whole;
        hold(state);
        products_begin();
#pragma unroll
        for (int part = 0; part < PARTS; part++) add_outer<WIDTH>(state, written[part], written_low[part], b, part);
        products_commit();
        // The state before this chunk, which is split already, meanwhile gives outputs; those of the chunk before leave first.
        if (chunk > 0) store(chunk - 1);
#pragma unroll
        for (int i = 0; i < CHUNK / 2; i++) out[i] = 0.0f;
        hold(out);
        products_begin();
#pragma unroll
        for (int k = 0; k < DEPTHS; k++) {
            add_inner(out, high[k / 4][k % 4], c, k);
            add_inner(out, low[k / 4][k % 4], c, k);
        }
        products_commit();
        products_wait<0>();
        hold(state);
        hold(out);
        unsigned x[PARTS][4];
#pragma unroll
        for (int part = 0; part < PARTS; part++) load_matrices_transposed(x[part], by_rows(lane, stage.x, part * 16, column));
#pragma unroll
        for (int tile = 0; tile < CHUNK / 8; tile++) {
            const float2 decay = *reinterpret_cast<const float2*>(&stage.decays.since_start[tile * 8 + lane % 4 * 2]);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const unsigned two = x[tile / 2][tile % 2 * 2 + half];
                out[tile * 4 + half * 2] = out[tile * 4 + half * 2] * decay.x + d * low_half(two);
                out[tile * 4 + half * 2 + 1] = out[tile * 4 + half * 2 + 1] * decay.y + d * high_half(two);
            }
        }
        hold(out);
        products_begin();
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            add_inner(out, x[part], weighted, part);
            add_inner(out, x[part], weighted_low, part);
        }
        products_commit();
        split_state();
        products_wait<0>();
        hold(out);
    }
    store(chunks.count - 1);
    start_next();
    store_state<STATE>(state, memory, rows - column);
}
