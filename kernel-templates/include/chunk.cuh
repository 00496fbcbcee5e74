// What the chunked forms of recurrences share: the roles of a block's warpgroups, decays between the tokens of a chunk, and products of
// f32 matrices as sums of products of bf16.
//
// Matrices are transposed against the usual text: rows of a product are rows of the state, columns are tokens. So a warpgroup owns 64 rows
// of the state for the whole span, in registers, and everything that it computes from them is an operand of its next product as it lies.
// Matrices in shared memory are tiles of 64 tokens and 64 columns as warpgroup.cuh has them, one behind the other where there are more columns.
#pragma once
#include "sizes.cuh"
#include "step.cuh"
#include "warp.cuh"
#include "warpgroup.cuh"

// Warpgroup 0 applies chunks to its rows. Warpgroups 1 and 2 take turns: each loads a chunk and computes what all rows share.
constexpr int GROUP = 4 * WARP, PREPARING = 2, STAGES = 3;
constexpr int CHUNK_THREADS = (1 + PREPARING) * GROUP;
constexpr int ROWS_OF_WARP = 16, ROWS_OF_BLOCK = 64;
constexpr int TILE_COLUMNS = 64, TILE_BYTES = 64 * 128;
// Elements of a product that a thread holds: of 64 x 64 by a warpgroup, of 16 x 16 by a warp.
constexpr int TILE_SHARE = 64 * 64 / GROUP, PART_SHARE = MMA_TILE * MMA_TILE / WARP;
constexpr double LOG2_E = 1.4426950408889634;  // of decays, which are powers of 2

// Registers of a thread after the roles are known: the state and its operands are in those of warpgroup 0.
__device__ __forceinline__ void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); }
__device__ __forceinline__ void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 128;"); }

// A barrier of one preparing warpgroup.
__device__ __forceinline__ void prepared(int group) { asm volatile("bar.sync %0, %1;" ::"r"(2 * STAGES + group), "n"(GROUP) : "memory"); }

// A value that the compiler knows nothing of: what is computed from it is computed anew in each turn of a loop, not once in registers that are then
// held throughout.
__device__ __forceinline__ int anew(int x) {
    asm volatile("" : "+r"(x));
    return x;
}

// A stage goes from a preparing warpgroup to warpgroup 0 and back: who has it says so, and who wants it waits.
__device__ __forceinline__ void give_stage(int stage) { asm volatile("bar.arrive %0, %1;" ::"r"(1 + stage), "n"(2 * GROUP) : "memory"); }
__device__ __forceinline__ void take_stage(int stage) { asm volatile("bar.sync %0, %1;" ::"r"(1 + stage), "n"(2 * GROUP) : "memory"); }
__device__ __forceinline__ void give_room(int stage) { asm volatile("bar.arrive %0, %1;" ::"r"(1 + STAGES + stage), "n"(2 * GROUP) : "memory"); }
__device__ __forceinline__ void take_room(int stage) { asm volatile("bar.sync %0, %1;" ::"r"(1 + STAGES + stage), "n"(2 * GROUP) : "memory"); }

// Zeros in shared memory, by the whole block.
__device__ __forceinline__ void clear(unsigned char* from, int bytes) {
    for (int i = threadIdx.x * 16; i < bytes; i += CHUNK_THREADS * 16) *reinterpret_cast<uint4*>(from + i) = make_uint4(0, 0, 0, 0);
}

// Keeps the compiler from moving uses of registers across the start or the wait of the products that own them.
template <int LEN> __device__ __forceinline__ void hold(float (&c)[LEN]) {
#pragma unroll
    for (int i = 0; i < LEN; i++) asm volatile("" : "+f"(c[i])::"memory");
}

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

// The decays of a chunk in the registers of a warp, which makes them ahead of the chunk; lane l has those of tokens l * EACH and following.
template <int CHUNK> struct DecayLanes {
    static constexpr int EACH = CHUNK / WARP;
    float log[EACH], low[EACH], to_end[EACH];

    // From the logarithm (base 2) of each token's own. Sums are in double, so that a token that forgets everything does not blur what comes
    // after it.
    __device__ __forceinline__ void set(int lane, const double (&own)[EACH]) {
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
            log[i] = static_cast<float>(sum);
            low[i] = static_cast<float>(sum - static_cast<double>(log[i]));
            to_end[i] = power_of_2(static_cast<float>(last - sum));
        }
    }

    __device__ __forceinline__ void store(int lane, Decays<CHUNK>& to) const {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int at = lane * EACH + i;
            to.log[at] = log[i], to.low[at] = low[i];
            to.since_start[at] = power_of_2(log[i]), to.to_end[at] = to_end[i];
        }
        if (lane == WARP - 1) to.whole = power_of_2(log[EACH - 1]);
    }
};

// Two floats as sums of two bf16 each: what is lost is below 2^-16 of a number.
__device__ __forceinline__ void split(float x, float y, unsigned& high, unsigned& low) {
    high = pack_bf16(x, y);
    low = pack_bf16(x - __uint_as_float(high << 16), y - __uint_as_float(high & 0xffff0000u));
}
__device__ __forceinline__ float low_half(unsigned pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high_half(unsigned pair) { return __uint_as_float(pair & 0xffff0000u); }

// 16 columns of a result, the `part`-th, as the left operand of the next product.
template <int LEN> __device__ __forceinline__ void split_columns(const float (&from)[LEN], int part, unsigned (&high)[4], unsigned (&low)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) split(from[part * 8 + 2 * i], from[part * 8 + 2 * i + 1], high[i], low[i]);
}

// Addresses for ldmatrix of a 16 x 16 part of a tile: the second 8 x 8 is right of the first.
__device__ __forceinline__ unsigned char* by_rows(int lane, unsigned char* tile, int row, int column) {
    return tile + swizzled(row + lane % 8 + lane / 16 * 8, column / 8 + lane / 8 % 2);
}

// Four 8 x 8 matrices to shared memory, each transposed: lane i gives the address of row i % 8 of matrix i / 8.
__device__ __forceinline__ void store_matrices_transposed(const void* row, const unsigned (&r)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)), "r"(r[0]), "r"(r[1]),
                 "r"(r[2]), "r"(r[3])
                 : "memory");
}

// left += a b, right likewise: a of 16 x 16, b of 16 x 16 by its two halves. By one warp.
__device__ __forceinline__ void warp_product(float (&c)[PART_SHARE], const unsigned (&a)[4], const unsigned (&b)[4]) {
    mma(reinterpret_cast<float(&)[4]>(c[0]), a, b[0], b[1]);
    mma(reinterpret_cast<float(&)[4]>(c[4]), a, b[2], b[3]);
}

// c (64 x WIDTH) += a b where a is 16 columns, split, and b is rows 16 `part` .. of tiles, as down_rows tells where.
template <int WIDTH>
__device__ __forceinline__ void add_outer(float (&c)[WIDTH / 2], const unsigned (&high)[4], const unsigned (&low)[4], unsigned long long tiles, int part) {
    const unsigned long long b = tiles + part * (16 * 128 / 16);
    product<WIDTH, 1>(c, high, b);
    product<WIDTH, 1>(c, low, b);
}

// A slice of 64 columns as left operands of products, of DEPTHS times 16 columns in all.
template <int DEPTHS, int LEN>
__device__ __forceinline__ void split_slice(const float (&state)[LEN], int slice, unsigned (&high)[4][4], unsigned (&low)[4][4]) {
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (slice * 4 + k < DEPTHS) split_columns(state, slice * 4 + k, high[k], low[k]);
}

// d += a b^T (64 x 64) where a is columns 16 `part` .. of the sum, and b are tiles, as along_columns tells where.
__device__ __forceinline__ void add_inner(float (&d)[TILE_SHARE], const unsigned (&a)[4], unsigned long long tiles, int part) {
    product<64, 0>(d, a, tiles + (part / 4 * TILE_BYTES + part % 4 * 32) / 16);
}

// c = x y^T for the 64 rows of x and y, DEPTH columns of their tiles.
template <int DEPTH> __device__ __forceinline__ void pairs(float (&c)[TILE_SHARE], const unsigned char* x, const unsigned char* y) {
    const unsigned long long of_x = along_columns(shared_address(x)), of_y = along_columns(shared_address(y));
#pragma unroll
    for (int k = 0; k < DEPTH; k += 16) {
        const unsigned at = (k / TILE_COLUMNS * TILE_BYTES + k % TILE_COLUMNS * 2) / 16;
        product<64, 0>(c, of_x + at, of_y + at, k > 0);
    }
}

// Weighs the products of a warp's 16 tokens with those up to them: (i, j) by `rows` of i, `columns` of j and what is left from j to i.
// `faded` is `columns` times what is left from j to the last of its 16 tokens, so that parts below the diagonal need one power per row:
// what is left from there to i. On the diagonal, `last(i, j)` says which are kept; the others become 0.
template <int CHUNK, class Last>
__device__ __forceinline__ void weigh_pairs(int thread, float (&products)[CHUNK / 2], const Decays<CHUNK>& decays, const float (&rows)[2],
                                            const float* columns, const float* faded, Last last) {
    const int warp = thread / WARP, lane = thread % WARP, i0 = warp * MMA_TILE + lane / 4, j0 = lane % 4 * 2;
#pragma unroll
    for (int part = 0; part < CHUNK / MMA_TILE; part++) {
        if (part > warp) continue;
        if (part < warp) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const float left = rows[half] * decays.between(i0 + half * 8, part * MMA_TILE + MMA_TILE - 1);
#pragma unroll
                for (int tile = 2 * part; tile < 2 * part + 2; tile++) {
                    const float2 weights = *reinterpret_cast<const float2*>(faded + tile * 8 + j0);
                    products[tile * 4 + half * 2] *= left * weights.x;
                    products[tile * 4 + half * 2 + 1] *= left * weights.y;
                }
            }
            continue;
        }
#pragma unroll
        for (int half = 0; half < 2; half++) {
#pragma unroll
            for (int tile = 2 * part; tile < 2 * part + 2; tile++) {
                const int i = i0 + half * 8, j = tile * 8 + j0;
                float &first = products[tile * 4 + half * 2], &second = products[tile * 4 + half * 2 + 1];
                const float2 weights = *reinterpret_cast<const float2*>(columns + j);
                first = last(i, j) ? first * (rows[half] * weights.x) * decays.between(i, j) : 0.0f;
                second = last(i, j + 1) ? second * (rows[half] * weights.y) * decays.between(i, j + 1) : 0.0f;
            }
        }
    }
}

// What weigh_pairs left, split into two tiles: parts below the diagonal, and those on it where `diagonal`.
template <int CHUNK>
__device__ __forceinline__ void store_pairs(int thread, const float (&pairs)[CHUNK / 2], unsigned char* high, unsigned char* low, bool diagonal) {
    const int warp = thread / WARP, lane = thread % WARP;
#pragma unroll
    for (int tile = 0; tile < CHUNK / 8; tile++) {
        if (tile / 2 >= warp + diagonal) continue;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int at = swizzled(warp * MMA_TILE + half * 8 + lane / 4, tile) + lane % 4 * 4;
            unsigned h, l;
            split(pairs[tile * 4 + half * 2], pairs[tile * 4 + half * 2 + 1], h, l);
            *reinterpret_cast<unsigned*>(high + at) = h;
            *reinterpret_cast<unsigned*>(low + at) = l;
        }
    }
}

// Rows of a chunk, `width` elements each, from device to TILES tiles in shared memory in the background, by a warpgroup. Rows past `tokens`
// become zeros, columns past `width` stay.
template <int TILES> __device__ __forceinline__ void load_rows(int thread, unsigned char* to, const bf16* from, int from_stride, int width, int tokens) {
    const int first = thread / 8, vector = thread % 8;
    unsigned char* at = to + swizzled(first, vector);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        // 16 rows at a time, so that all rows of a thread are equal modulo 8, and lie at the same place of a tile's row.
        const int row = first + 16 * i;
        const bf16* source = from + static_cast<unsigned>(min(row, tokens - 1) * from_stride + vector * 8);
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
            if (tile * TILE_COLUMNS + vector * 8 < width) copy_16(at + tile * TILE_BYTES + i * 16 * 128, source + tile * TILE_COLUMNS, row < tokens);
    }
}

// Asks for rows of a later chunk, by a warp, so that they are in the second-level cache by the time they are loaded.
template <int TILES> __device__ __forceinline__ void expect_rows(int lane, const bf16* from, int from_stride, int tokens) {
    for (int row = lane; row < tokens; row += WARP) {
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(from + static_cast<unsigned>(row * from_stride + tile * TILE_COLUMNS)));
    }
}

// The 16 rows of a warp's state from and to memory `[row][column]`, as results of products lie. Rows past `rows` are 0.
template <int COLUMNS, int LEN> __device__ __forceinline__ void load_state(float (&state)[LEN], const float* from, int rows, bool zero) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < LEN; i += 2) {
        const int row = lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2;
        float2 pair = make_float2(0.0f, 0.0f);
        if (!zero && row < rows && column < COLUMNS) pair = *reinterpret_cast<const float2*>(from + row * COLUMNS + column);
        state[i] = pair.x, state[i + 1] = pair.y;
    }
}
template <int COLUMNS, int LEN> __device__ __forceinline__ void store_state(const float (&state)[LEN], float* to, int rows) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < LEN; i += 2) {
        const int row = lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2;
        if (row < rows && column < COLUMNS) *reinterpret_cast<float2*>(to + row * COLUMNS + column) = make_float2(state[i], state[i + 1]);
    }
}

// The outputs of a warp's rows, which are 16 columns of memory from `column` of the block: through the same columns of a tile.
template <int CHUNK>
__device__ __forceinline__ void store_outputs(int lane, const float (&y)[CHUNK / 2], unsigned char* room, int column, bf16* to, long long to_stride, int tokens, int rows) {
    __syncwarp();
#pragma unroll
    for (int part = 0; part < CHUNK / 16; part++) {
        unsigned columns[4];
#pragma unroll
        for (int i = 0; i < 4; i++) columns[i] = pack_bf16(y[part * 8 + 2 * i], y[part * 8 + 2 * i + 1]);
        store_matrices_transposed(by_rows(lane, room, part * 16, column), columns);
    }
    __syncwarp();
    const int half = lane % 2 * 8;
#pragma unroll
    for (int i = 0; i < CHUNK; i += WARP / 2) {
        const int token = i + lane / 2;
        if (token < tokens && half < rows)
            *reinterpret_cast<uint4*>(to + token * to_stride + half) =
                *reinterpret_cast<const uint4*>(room + swizzled(token, column / 8 + lane % 2));
    }
}

// Zeros in the outputs of a span without a state: `rows` columns of its tokens.
__device__ __forceinline__ void zero_outputs(bf16* to, long long to_stride, int tokens, int rows) {
    const int vectors = rows / 8;
    for (int i = threadIdx.x; i < tokens * vectors; i += blockDim.x)
        *reinterpret_cast<uint4*>(to + i / vectors * to_stride + i % vectors * 8) = make_uint4(0, 0, 0, 0);
}
