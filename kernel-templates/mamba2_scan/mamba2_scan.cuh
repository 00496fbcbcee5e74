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

// What a warp knows of a chunk before it is loaded: each lane of two of its tokens.
template <int CHUNK> struct ScanLanes {
    static constexpr int EACH = CHUNK / WARP;
    float dt[EACH];
    DecayLanes<CHUNK> decays;

    __device__ __forceinline__ void load(int lane, const ScanInputs& from, int first, int tokens) {
#pragma unroll
        for (int i = 0; i < EACH; i++) dt[i] = from.dt[static_cast<long long>(first + min(lane * EACH + i, tokens - 1)) * from.heads];
    }
    // What was loaded becomes time steps, 0 past the last token, and their decays.
    __device__ __forceinline__ void finish(int lane, const ScanInputs& from, int tokens) {
        double own[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            dt[i] = lane * EACH + i < tokens ? time_step(dt[i] + from.bias, from.least) : 0.0f;
            own[i] = from.decay * static_cast<double>(dt[i]);
        }
        decays.set(lane, own);
    }
    template <int STATE> __device__ __forceinline__ void store(int lane, ScanStage<STATE, CHUNK>& stage) const {
        decays.store(lane, stage.decays);
        __syncwarp();
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int at = lane * EACH + i;
            stage.step[at] = dt[i];
            stage.written[at] = dt[i] * decays.to_end[i];
            stage.faded[at] = dt[i] * stage.decays.between(at | (MMA_TILE - 1), at);
        }
    }
};

// Loads a chunk, and computes its decays and weighted pairs; and as much of the chunk that this warpgroup prepares next, of `after` tokens
// from `then`, as can be known before there is room for it.
template <int STATE, int CHUNK>
__device__ __forceinline__ void prepare(int thread, const ScanInputs& from, ScanLanes<CHUNK>& lanes, ScanStage<STATE, CHUNK>& stage, int first, int tokens,
                                        int then, int after) {
    using Stage = ScanStage<STATE, CHUNK>;
    const int warp = thread / WARP, lane = thread % WARP;
    const long long at = static_cast<long long>(first) * from.width;
    load_rows<Stage::TILES>(thread, stage.c, from.c + at, from.width, STATE, tokens);
    load_rows<Stage::TILES>(thread, stage.b, from.b + at, from.width, STATE, tokens);
    load_rows<1>(thread, stage.x, from.x + at, from.width, from.rows, tokens);
    commit_copies();
    const long long later = static_cast<long long>(then) * from.width;
    if (warp == 0) {
        lanes.store(lane, stage);
        if (after > 0) lanes.load(lane, from, then, after);
    }
    if (warp == 1) expect_rows<Stage::TILES>(lane, from.c + later, from.width, after);
    if (warp == 2) expect_rows<Stage::TILES>(lane, from.b + later, from.width, after);
    if (warp == 3) expect_rows<1>(lane, from.x + later, from.width, after);
    wait_copies<0>();
    written_for_products();
    prepared(threadIdx.x / GROUP);
    float g[CHUNK / 2] = {};
    products_begin();
    pairs<round_up(STATE, 16)>(g, stage.c, stage.b);
    products_commit();
    products_wait<0>();
    hold(g);
    weigh_pairs(thread, g, stage.decays, {1.0f, 1.0f}, stage.step, stage.faded, [](int i, int j) { return j <= i; });
    store_pairs<CHUNK>(thread, g, stage.weighted, stage.weighted_low, true);
    written_for_products();
    if (warp == 0 && after > 0) lanes.finish(lane, from, after);  // the warp with the fewest pairs
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
        ScanLanes<CHUNK> lanes = {};
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
