// Products of rows with one matrix per head: out[row, head] = x[row, head] times the head's matrix.
//
// A block takes a head, 64 rows and 64 columns of the result. The matrix streams through stages of shared memory, and its first pieces
// are on their way before the previous kernel ends. With few rows that is all the traffic there is; tiles of 16 rows that no
// row is in are left out.
#pragma once
#include "latent.cuh"

constexpr int PRODUCT_ROWS = 64, PRODUCT_COLUMNS = 64, PRODUCT_THREADS = 128;
constexpr int PRODUCT_STAGE = (PRODUCT_ROWS + PRODUCT_COLUMNS) * 128;

// Rows of x begin at x + row * x_stride, of the result at out + row * out_stride, both for this head. The matrix is [COLUMNS, DEPTH], or
// [DEPTH, COLUMNS] where DOWN. `served` of 64 flags says which rows of the tile exist; `extra` runs between the start of the first copies
// and the products.
template <int DEPTH, int COLUMNS, bool DOWN, class Phase, class Extra>
__device__ __forceinline__ void head_product(const Step& step, const bf16* x, long long x_stride, const bf16* matrix, bf16* out,
                                             long long out_stride, int first_column, int first_row, int rows, Extra extra) {
    static_assert(DEPTH % 8 == 0 && COLUMNS % 8 == 0, "rows are copied 8 elements at a time");
    // A short sum is all under way at once, a long one but for the stage that is being read.
    constexpr int CHUNKS = ceil_div(DEPTH, 64), STAGES = CHUNKS < 4 ? CHUNKS : 4, AHEAD = CHUNKS <= 4 ? CHUNKS : 3;
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ int served[PRODUCT_ROWS];
    TENON_ASSERT(threads_of_block() == PRODUCT_THREADS && dynamic_shared_bytes() >= STAGES * PRODUCT_STAGE);
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    // 8 threads copy a row of a chunk, 128 bytes; byte (row, vector) lies at vector ^ (row % 8), so that no bank is hit twice.
    const int vector = thread % 8, line = thread / 8;
    auto place = [](int row, int v) { return row * 128 + ((v ^ (row & 7)) << 4); };
    auto load_matrix = [&](int chunk) {
        unsigned char* to = shared + chunk % STAGES * PRODUCT_STAGE + PRODUCT_ROWS * 128;
#pragma unroll
        for (int part = 0; part < 4; part++) {
            const int row = part * 16 + line;
            const int depth = chunk * 64 + (DOWN ? row : vector * 8), column = first_column + (DOWN ? vector * 8 : row);
            const bool valid = depth < DEPTH && column < COLUMNS;
            const bf16* from = DOWN ? matrix + depth * COLUMNS + column : matrix + column * DEPTH + depth;
            copy_16(to + place(row, vector), valid ? from : matrix, valid);
        }
    };
#pragma unroll
    for (int chunk = 0; chunk < AHEAD; chunk++) load_matrix(chunk);

    wait_for_previous();
    start_next();
    if (thread < PRODUCT_ROWS) served[thread] = serves<Phase>(step, first_row + thread, rows);
    // Rows of the tile up to the last one that is served.
    const int mine = thread < PRODUCT_ROWS && served[thread] ? thread + 1 : 0;
    __shared__ int lengths[PRODUCT_THREADS / 32];
    const int longest = __reduce_max_sync(0xffffffff, mine);
    if (lane == 0) lengths[warp] = longest;
    __syncthreads();
    const int length = max(max(lengths[0], lengths[1]), max(lengths[2], lengths[3]));
    if (length == 0) {
        wait_copies<0>();
        return;
    }
    auto load_rows = [&](int chunk) {
        unsigned char* to = shared + chunk % STAGES * PRODUCT_STAGE;
        const int depth = chunk * 64 + vector * 8;
#pragma unroll
        for (int part = 0; part < 4; part++) {
            const int row = part * 16 + line;
            if (part * 16 >= length) break;
            const bool valid = depth < DEPTH && served[row];
            copy_16(to + place(row, vector), valid ? x + (first_row + row) * x_stride + depth : x, valid);
        }
    };
#pragma unroll
    for (int chunk = 0; chunk < AHEAD; chunk++) {
        load_rows(chunk);
        commit_copies();
    }
    extra(served);

    float sums[4][2][4] = {};
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        wait_copies<AHEAD - 1>();
        __syncthreads();
        if (chunk + AHEAD < CHUNKS) {
            load_matrix(chunk + AHEAD);
            load_rows(chunk + AHEAD);
        }
        commit_copies();
        const unsigned char* a = shared + chunk % STAGES * PRODUCT_STAGE;
        const unsigned char* b = a + PRODUCT_ROWS * 128;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            // Warp w has columns 16 w ..: two products of 8.
            unsigned columns[4];
            if constexpr (DOWN) load_matrices_transposed(columns, b + place(k * 16 + lane % 16, warp * 2 + lane / 16));
            else load_matrices(columns, b + place(warp * 16 + lane / 16 * 8 + lane % 8, k * 2 + lane / 8 % 2));
#pragma unroll
            for (int m = 0; m < 4; m++) {
                if (m * 16 >= length) break;
                unsigned values[4];
                load_matrices(values, a + place(m * 16 + lane % 16, k * 2 + lane / 16));
                mma(sums[m][0], values, columns[0], columns[1]);
                mma(sums[m][1], values, columns[2], columns[3]);
            }
        }
    }
#pragma unroll
    for (int m = 0; m < 4; m++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = m * 16 + half * 8 + lane / 4;
            if (!served[row]) continue;
#pragma unroll
            for (int n = 0; n < 2; n++) {
                const int column = first_column + warp * 16 + n * 8 + 2 * (lane % 4);
                if (column >= COLUMNS) continue;
                *reinterpret_cast<unsigned*>(out + (first_row + row) * out_stride + column) = pack_bf16(sums[m][n][2 * half], sums[m][n][2 * half + 1]);
            }
        }
    }
}
