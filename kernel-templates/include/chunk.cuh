// What the chunked forms of recurrences share: the roles of a block's warps, decays between the tokens of a chunk, and products of f32
// matrices as sums of products of bf16.
//
// Matrices are transposed against the usual text: rows of a product are rows of the state, columns are tokens. So a warp owns 16 rows of
// the state for the whole span, in registers, and everything that it computes from them is an operand of its next product as it lies.
#pragma once
#include "mma.cuh"
#include "step.cuh"
#include "warp.cuh"

// Warps 0 .. 3 load the next chunk and compute what all rows share, while warps 4 .. 7 apply the chunk before it to 16 rows each.
constexpr int PREPARING = 4, HOLDING = 4;
constexpr int CHUNK_THREADS = (PREPARING + HOLDING) * WARP;
constexpr int ROWS_OF_WARP = 16, ROWS_OF_BLOCK = HOLDING * ROWS_OF_WARP;
// Elements that pad a row of a matrix in shared memory: rows are an odd number of 16 bytes, so that 8 of them lie in different banks.
constexpr int ROW_PAD = 8;
constexpr int ROWS_STRIDE = ROWS_OF_BLOCK + ROW_PAD;
constexpr double LOG2_E = 1.4426950408889634;  // of decays, which are powers of 2

// A barrier of the preparing warps alone.
__device__ __forceinline__ void prepared() { asm volatile("bar.sync 1, %0;" ::"n"(PREPARING * WARP) : "memory"); }

// Where both kinds meet, once per chunk: the preparing warps have it ready, and the others are done with the one before it. So two
// stages are enough: the next chunk is prepared in the one that was used up.
__device__ __forceinline__ void meet() { asm volatile("bar.sync 0, %0;" ::"n"(CHUNK_THREADS) : "memory"); }

// The chunks of a span: they end at absolute multiples of CHUNK.
template <int CHUNK> struct Chunks {
    int first, length, head, count;  // first row, tokens, tokens of the first chunk, chunks
    __device__ Chunks(const Step& step, int sequence) {
        first = step.first[sequence];
        length = step.length[sequence];
        head = min(CHUNK - step.start[sequence] % CHUNK, length);
        count = 1 + ceil_div(length - head, CHUNK);
    }
    __device__ int begin(int chunk) const { return chunk == 0 ? 0 : head + (chunk - 1) * CHUNK; }
    __device__ int tokens(int chunk) const { return chunk == 0 ? head : min(CHUNK, length - begin(chunk)); }
};

// What is left of a token's write, as powers of 2. The logarithm from before the chunk to a token is `log + low`: it may be large where
// the difference of two of them is small.
template <int CHUNK> struct Decays {
    float log[CHUNK], low[CHUNK];
    float since_start[CHUNK], to_end[CHUNK];  // from before the chunk to a token, and from a token to the last one
    float whole, pad[3];

    // From a token j to a later one i.
    __device__ float between(int i, int j) const;
};

// 2^x within 2 ulp; 0 where that is below the normal numbers.
__device__ __forceinline__ float power_of_2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

template <int CHUNK> __device__ __forceinline__ float Decays<CHUNK>::between(int i, int j) const {
    return power_of_2((log[i] - log[j]) + (low[i] - low[j]));
}

// Sets the decays from the logarithm (base 2) of each token's own, by one warp; lane l has those of tokens l * EACH and following.
// Sums are in double, so that a token that forgets everything does not blur what comes after it.
template <int CHUNK> __device__ __forceinline__ void set_decays(Decays<CHUNK>& decays, const double (&own)[CHUNK / WARP]) {
    constexpr int EACH = CHUNK / WARP;
    const int lane = threadIdx.x % WARP;
    double sums[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) sums[i] = own[i] + (i > 0 ? sums[i - 1] : 0.0);
    double before = sums[EACH - 1];
#pragma unroll
    for (int offset = 1; offset < WARP; offset *= 2) {
        double other = __shfl_up_sync(0xffffffff, before, offset);
        if (lane >= offset) before += other;
    }
    before -= sums[EACH - 1];
    // Beyond this nothing is left of anything, and differences of infinities would be NaN. A NaN stays one.
    double last = __shfl_sync(0xffffffff, before + sums[EACH - 1], WARP - 1);
    if (last < -1e30) last = -1e30;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        double sum = before + sums[i];
        if (sum < -1e30) sum = -1e30;
        const int at = lane * EACH + i;
        const float log = static_cast<float>(sum);
        decays.log[at] = log;
        decays.low[at] = static_cast<float>(sum - static_cast<double>(log));
        decays.since_start[at] = power_of_2(log);
        decays.to_end[at] = power_of_2(static_cast<float>(last - sum));
    }
    if (lane == 0) decays.whole = power_of_2(static_cast<float>(last));
}

// Two floats as sums of two bf16 each: what is lost is below 2^-16 of a number.
__device__ __forceinline__ void split(float x, float y, unsigned& high, unsigned& low) {
    high = pack_bf16(x, y);
    low = pack_bf16(x - __uint_as_float(high << 16), y - __uint_as_float(high & 0xffff0000u));
}
__device__ __forceinline__ float low_half(unsigned pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high_half(unsigned pair) { return __uint_as_float(pair & 0xffff0000u); }

// 16 columns of a result as the left operand of the next product.
__device__ __forceinline__ void split_columns(const float (&left)[4], const float (&right)[4], unsigned (&high)[4], unsigned (&low)[4]) {
    split(left[0], left[1], high[0], low[0]);
    split(left[2], left[3], high[1], low[1]);
    split(right[0], right[1], high[2], low[2]);
    split(right[2], right[3], high[3], low[3]);
}

// Addresses for ldmatrix of a 16 x 16 part of a matrix in shared memory. `by_rows`: the second 8 x 8 is right of the first;
// `by_columns`: it is below the first.
__device__ __forceinline__ const bf16* by_rows(const bf16* part, int stride) {
    const int lane = threadIdx.x % WARP;
    return part + (lane % 8 + lane / 16 * 8) * stride + lane / 8 % 2 * 8;
}
__device__ __forceinline__ const bf16* by_columns(const bf16* part, int stride) {
    const int lane = threadIdx.x % WARP;
    return part + lane % 16 * stride + lane / 16 * 8;
}

// Four 8 x 8 matrices to shared memory, each transposed: lane i gives the address of row i % 8 of matrix i / 8.
__device__ __forceinline__ void store_matrices_transposed(const void* row, const unsigned (&r)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)), "r"(r[0]), "r"(r[1]),
                 "r"(r[2]), "r"(r[3])
                 : "memory");
}

// left += a b, right likewise: a of 16 x 16, b of 16 x 16 by its two halves.
__device__ __forceinline__ void product(float (&left)[4], float (&right)[4], const unsigned (&a)[4], const unsigned (&b)[4]) {
    mma(left, a, b[0], b[1]);
    mma(right, a, b[2], b[3]);
}

// The same where a is split, and b is `[column][row]` in shared memory, split too: three of the four products, for the fourth is 2^-16 of them.
__device__ __forceinline__ void product_of_splits(float (&left)[4], float (&right)[4], const unsigned (&high)[4], const unsigned (&low)[4],
                                                  const bf16* b_high, const bf16* b_low, int stride) {
    unsigned b[4], c[4];
    load_matrices(b, by_rows(b_high, stride));
    load_matrices(c, by_rows(b_low, stride));
    product(left, right, high, b);
    product(left, right, low, b);
    product(left, right, high, c);
}

// state += a b for a of 16 x 16, split, and b of 16 rows in shared memory. Products of other columns stand between two that add to the same
// sum, so that none waits for the one before it.
template <int TILES>
__device__ __forceinline__ void add_to_state(float (&state)[TILES][4], const unsigned (&high)[4], const unsigned (&low)[4], const bf16* b,
                                             int stride) {
#pragma unroll
    for (int tile = 0; tile < TILES; tile += 4) {
        unsigned part[2][4];
#pragma unroll
        for (int i = 0; i < 2; i++)
            if (tile + 2 * i < TILES) load_matrices_transposed(part[i], by_columns(b + (tile + 2 * i) * 8, stride));
#pragma unroll
        for (int i = 0; i < 2; i++)
            if (tile + 2 * i < TILES) product(state[tile + 2 * i], state[tile + 2 * i + 1], high, part[i]);
#pragma unroll
        for (int i = 0; i < 2; i++)
            if (tile + 2 * i < TILES) product(state[tile + 2 * i], state[tile + 2 * i + 1], low, part[i]);
    }
}

// A 16 x 16 part of x y^T, for rows of DEPTH in shared memory; in two chains, which do not wait for each other.
template <int DEPTH> __device__ __forceinline__ void pairs(float (&left)[4], float (&right)[4], const bf16* x, const bf16* y, int stride) {
    float odd_left[4], odd_right[4];
#pragma unroll
    for (int i = 0; i < 4; i++) left[i] = right[i] = odd_left[i] = odd_right[i] = 0.0f;
#pragma unroll
    for (int k = 0; k < DEPTH; k += 16) {
        unsigned a[4], b[4];
        load_matrices(a, by_columns(x + k, stride));
        load_matrices(b, by_rows(y + k, stride));
        if (k % 32 == 0) product(left, right, a, b);
        else product(odd_left, odd_right, a, b);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) left[i] += odd_left[i], right[i] += odd_right[i];
}

// Calls `weigh(row, column, value)` for each element of a result of `pairs`, and stores what it returns, split.
template <class Weigh>
__device__ __forceinline__ void store_pairs(const float (&left)[4], const float (&right)[4], bf16* high, bf16* low, int stride, Weigh weigh) {
    const int lane = threadIdx.x % WARP, column = lane % 4 * 2;
#pragma unroll
    for (int part = 0; part < 4; part++) {
        const float(&from)[4] = part < 2 ? left : right;
        const int i = lane / 4 + part % 2 * 8, j = column + part / 2 * 8;
        unsigned h, l;
        split(weigh(i, j, from[part % 2 * 2]), weigh(i, j + 1, from[part % 2 * 2 + 1]), h, l);
        *reinterpret_cast<unsigned*>(high + i * stride + j) = h;
        *reinterpret_cast<unsigned*>(low + i * stride + j) = l;
    }
}

// The row and column of the n-th part on or below the diagonal, row by row.
__device__ __forceinline__ void lower_part(int n, int& row, int& column) {
    row = 0;
    while (n > row) n -= ++row;
    column = n;
}

// Rows of a chunk, `width` elements each, from device to shared memory in the background, by the preparing warps. Rows past `tokens`
// become zeros.
template <int CHUNK>
__device__ __forceinline__ void load_rows(bf16* to, int stride, const bf16* from, long long from_stride, int width, int tokens) {
    const int vectors = width / 8;
    for (int i = threadIdx.x; i < CHUNK * vectors; i += PREPARING * WARP) {
        const int row = i / vectors, at = i % vectors * 8;
        copy_16(to + row * stride + at, from + (row < tokens ? row : 0) * from_stride + at, row < tokens);
    }
}

// Asks for rows of a later chunk, by the preparing warps, so that they are in the second-level cache by the time they are loaded.
template <class T> __device__ __forceinline__ void expect_rows(const T* from, long long from_stride, int width, int tokens) {
    constexpr int LINE = 128 / sizeof(T);
    const int lines = ceil_div(width, LINE);
    for (int i = threadIdx.x; i < tokens * lines; i += PREPARING * WARP) {
        const T* line = from + i / lines * from_stride + min(i % lines * LINE, width - 1);
        asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
    }
}

// The 16 rows of a warp's state from and to memory `[row][column]`, as results of products lie. Rows past `rows` are 0.
template <int COLUMNS, int TILES>
__device__ __forceinline__ void load_state(float (&state)[TILES][4], const float* from, int rows, bool zero) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = lane / 4 + half * 8, column = tile * 8 + lane % 4 * 2;
            float2 pair = make_float2(0.0f, 0.0f);
            if (!zero && row < rows && column < COLUMNS) pair = *reinterpret_cast<const float2*>(from + row * COLUMNS + column);
            state[tile][half * 2] = pair.x;
            state[tile][half * 2 + 1] = pair.y;
        }
    }
}
template <int COLUMNS, int TILES> __device__ __forceinline__ void store_state(const float (&state)[TILES][4], float* to, int rows) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = lane / 4 + half * 8, column = tile * 8 + lane % 4 * 2;
            if (row < rows && column < COLUMNS)
                *reinterpret_cast<float2*>(to + row * COLUMNS + column) = make_float2(state[tile][half * 2], state[tile][half * 2 + 1]);
        }
    }
}

// The outputs of a warp's rows, which are columns of memory: through `room`, the warp's 16 columns of a tile `[token][ROWS_STRIDE]`.
template <int CHUNK>
__device__ __forceinline__ void store_outputs(const float (&y)[CHUNK / 8][4], bf16* room, bf16* to, long long to_stride, int tokens, int rows) {
    const int lane = threadIdx.x % WARP;
    __syncwarp();
#pragma unroll
    for (int part = 0; part < CHUNK / 16; part++) {
        const unsigned columns[4] = {pack_bf16(y[2 * part][0], y[2 * part][1]), pack_bf16(y[2 * part][2], y[2 * part][3]),
                                     pack_bf16(y[2 * part + 1][0], y[2 * part + 1][1]), pack_bf16(y[2 * part + 1][2], y[2 * part + 1][3])};
        store_matrices_transposed(by_rows(room + part * 16 * ROWS_STRIDE, ROWS_STRIDE), columns);
    }
    __syncwarp();
    const int half = lane % 2 * 8;
#pragma unroll
    for (int i = 0; i < CHUNK; i += WARP / 2) {
        const int token = i + lane / 2;
        if (token < tokens && half < rows)
            *reinterpret_cast<uint4*>(to + token * to_stride + half) = *reinterpret_cast<const uint4*>(room + token * ROWS_STRIDE + half);
    }
}

// Zeros in the outputs of a span without a state: `rows` columns of its tokens.
__device__ __forceinline__ void zero_outputs(bf16* to, long long to_stride, int tokens, int rows) {
    const int vectors = rows / 8;
    for (int i = threadIdx.x; i < tokens * vectors; i += blockDim.x)
        *reinterpret_cast<uint4*>(to + i / vectors * to_stride + i % vectors * 8) = make_uint4(0, 0, 0, 0);
}
