// Keys and values of every head from the latents of whole contexts: [K c, rotated part] and V c.
#pragma once
#include "sizes.cuh"
#include "expanded.cuh"

constexpr int EXPAND_COLUMNS = 128, EXPAND_THREADS = 256, EXPAND_STAGES = 3;

// A block makes 128 rows of 128 columns. The columns are those of all heads of the pass, first of keys and then of values: rows of w_k
// and w_v as they lie in memory. The last blocks of a row of the grid copy the rotated part to the keys of all heads.
template <class Kv, int NOPE, int ROPE, int V, int RANK, class Phase>
__device__ __forceinline__ void mla_expand(const Step& step, const void* cache, const bf16* w_k, const bf16* w_v, bf16* keys, bf16* values,
                                           int first_span, int first_head, int spans, int heads, int context_rows) {
    static_assert(NOPE % 8 == 0 && ROPE % 8 == 0 && V % 8 == 0 && RANK % 8 == 0, "rows are copied 8 elements at a time");
    constexpr int DIM = RANK + ROPE, KEY = NOPE + ROPE, CHUNKS = ceil_div(RANK, 64);
    constexpr bool IS_BF16 = sizeof(Kv) == 2;
    constexpr int A = EXPAND_ROWS * 64 * sizeof(Kv), STAGE = A + EXPAND_COLUMNS * 128;
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ int sequences[EXPAND_ROWS], positions[EXPAND_ROWS];
    __shared__ const Kv* row_of[EXPAND_ROWS];
    TENON_ASSERT(threads_of_block() == EXPAND_THREADS && dynamic_shared_bytes() >= EXPAND_STAGES * STAGE);
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32, first_row = blockIdx.x * EXPAND_ROWS;
    const int key_blocks = ceil_div(heads * NOPE, EXPAND_COLUMNS), value_blocks = ceil_div(heads * V, EXPAND_COLUMNS), part = blockIdx.y;
    const bool of_keys = part < key_blocks;
    const int first_column = (of_keys ? part : part - key_blocks) * EXPAND_COLUMNS, columns = heads * (of_keys ? NOPE : V);
    const bf16* matrix = of_keys ? w_k + static_cast<long long>(first_head) * NOPE * RANK : w_v + static_cast<long long>(first_head) * V * RANK;

    // Rows of the latents are A; of fp8 the stages hold raw bytes, and 16 KB after them the tile in bf16 that is multiplied. Rows of a
    // matrix are B.
    auto place = [](int row, int v) { return row * 128 + ((v ^ (row & 7)) << 4); };
    auto stage = [&](int chunk) { return shared + chunk % EXPAND_STAGES * STAGE; };
    auto load_matrix = [&](int chunk) {
        const int vector = thread % 8, depth = chunk * 64 + vector * 8;
#pragma unroll
        for (int pass = 0; pass < 4; pass++) {
            const int row = pass * 32 + thread / 8;
            const bool valid = depth < RANK && first_column + row < columns;
            copy_16(stage(chunk) + A + place(row, vector), valid ? matrix + static_cast<long long>(first_column + row) * RANK + depth : matrix, valid);
        }
    };
    const bool copies = part == key_blocks + value_blocks;
    if (!copies) {
#pragma unroll
        for (int chunk = 0; chunk < EXPAND_STAGES - 1; chunk++)
            if (chunk < CHUNKS) load_matrix(chunk);
    }
    wait_for_previous();
    start_next();
    if (warp == 0) unpack_rows<Phase>(step, first_span, spans, first_row, EXPAND_ROWS, sequences, positions);
    __syncthreads();
    if (thread < EXPAND_ROWS) {
        const bool exists = sequences[thread] >= 0 && first_row + thread < context_rows;
        row_of[thread] = exists ? latent_of<Kv>(step, cache, sequences[thread], positions[thread], DIM) : nullptr;
    }
    __syncthreads();
    // Rows are packed: without the first there is none.
    if (!row_of[0]) {
        wait_copies<0>();
        return;
    }
    if (copies) {
        constexpr int VECTORS = ROPE / 8;
        for (int i = thread; i < heads * EXPAND_ROWS * VECTORS; i += EXPAND_THREADS) {
            const int vector = i % VECTORS, row = i / VECTORS % EXPAND_ROWS, head = i / VECTORS / EXPAND_ROWS;
            if (!row_of[row]) continue;
            bf16* to = keys + (static_cast<long long>(head) * context_rows + first_row + row) * KEY + NOPE + vector * 8;
            *reinterpret_cast<uint4*>(to) = eight_bf16(row_of[row] + RANK + vector * 8);
        }
        return;
    }

    auto load_latents = [&](int chunk) {
        if constexpr (IS_BF16) {
            const int vector = thread % 8, depth = chunk * 64 + vector * 8;
#pragma unroll
            for (int pass = 0; pass < 4; pass++) {
                const int row = pass * 32 + thread / 8;
                const bool valid = depth < RANK && row_of[row];
                copy_16(stage(chunk) + place(row, vector), valid ? static_cast<const void*>(row_of[row] + depth) : cache, valid);
            }
        } else {
            // 16 bytes at once where rows allow; what they hold past the rank meets zeros of the matrix.
            constexpr int BYTES = DIM % 16 == 0 ? 16 : 8, PER_ROW = 64 / BYTES;
#pragma unroll
            for (int pass = 0; pass < EXPAND_ROWS * PER_ROW / EXPAND_THREADS; pass++) {
                const int i = pass * EXPAND_THREADS + thread, row = i / PER_ROW, at = i % PER_ROW * BYTES;
                const bool valid = chunk * 64 + at < RANK && row_of[row];
                const void* from = valid ? static_cast<const void*>(row_of[row] + chunk * 64 + at) : cache;
                if constexpr (BYTES == 16) copy_16(stage(chunk) + row * 64 + at, from, valid);
                else copy_8(stage(chunk) + row * 64 + at, from, valid);
            }
        }
    };
#pragma unroll
    for (int chunk = 0; chunk < EXPAND_STAGES - 1; chunk++) {
        if (chunk < CHUNKS) load_latents(chunk);
        commit_copies();
    }

    // Warps are 2 x 4: 64 rows and 32 columns each.
    const int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;
    float sums[4][4][4] = {};
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        wait_copies<EXPAND_STAGES - 2>();
        __syncthreads();
        if (chunk + EXPAND_STAGES - 1 < CHUNKS) {
            load_matrix(chunk + EXPAND_STAGES - 1);
            load_latents(chunk + EXPAND_STAGES - 1);
        }
        commit_copies();
        const unsigned char* a = stage(chunk);
        const unsigned char* b = a + A;
        if constexpr (!IS_BF16) {
            unsigned char* tile = shared + EXPAND_STAGES * STAGE;
#pragma unroll
            for (int pass = 0; pass < 4; pass++) {
                const int row = pass * 32 + thread / 8, vector = thread % 8;
                *reinterpret_cast<uint4*>(tile + place(row, vector)) = eight_bf16(reinterpret_cast<const fp8_e4m3*>(a + row * 64 + vector * 8));
            }
            a = tile;
            __syncthreads();
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            unsigned b_values[2][4];
#pragma unroll
            for (int n = 0; n < 2; n++) load_matrices(b_values[n], b + place(warp_column + n * 16 + lane / 16 * 8 + lane % 8, k * 2 + lane / 8 % 2));
#pragma unroll
            for (int m = 0; m < 4; m++) {
                unsigned a_values[4];
                load_matrices(a_values, a + place(warp_row + m * 16 + lane % 16, k * 2 + lane / 16));
#pragma unroll
                for (int n = 0; n < 4; n++) mma(sums[m][n], a_values, b_values[n / 2][n % 2 * 2], b_values[n / 2][n % 2 * 2 + 1]);
            }
        }
    }
    const int width = of_keys ? NOPE : V, stride = of_keys ? KEY : V;
    bf16* out = of_keys ? keys : values;
#pragma unroll
    for (int n = 0; n < 4; n++) {
        const int column = first_column + warp_column + n * 8 + 2 * (lane % 4);
        if (column >= columns) continue;
        const int head = of_keys ? column / NOPE : column / V;
        bf16* to = out + static_cast<long long>(head) * context_rows * stride + (column - head * width);
#pragma unroll
        for (int m = 0; m < 4; m++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int row = warp_row + m * 16 + half * 8 + lane / 4;
                if (!row_of[row]) continue;
                *reinterpret_cast<unsigned*>(to + static_cast<long long>(first_row + row) * stride) = pack_bf16(sums[m][n][2 * half], sums[m][n][2 * half + 1]);
            }
        }
    }
}
