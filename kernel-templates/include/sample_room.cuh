// What the blocks that draw a token keep in shared memory beside their shares of the row, and masses as whole numbers.
#pragma once
#include "sizes.cuh"
#include "logits.cuh"

using Mass = unsigned long long;
using Token = unsigned long long;
constexpr float MASS_OF_ONE = 17592186044416.0f;
// Blocks of the cluster of a row, and the largest vocabulary: the `max` of TEMPLATE.toml.
constexpr int SAMPLE_BLOCKS = 8, SAMPLE_WARPS = SAMPLE_BLOCKS * LOGIT_WARPS, SAMPLE_MOST = 327680;
static_assert(SAMPLE_MOST < 1 << 20, "sums of masses of 2^44 fit 64 bits");
// Masses below e^-31.2 of the largest are below half a unit, so that 8 bins for each 1 of an exponent part all tokens that have any.
constexpr float BINS_OF_ONE = 8.0f;
// Tokens that are few enough to compare each with all others.
constexpr int LISTED = 256;

// The pieces of masses that 32-bit sums hold, which shared memory adds by itself, and the number of tokens.
constexpr int MASS_PIECES = 3, COUNT_PIECE = MASS_PIECES, PIECES = MASS_PIECES + 1, PIECE_BITS = 15;
static_assert(MASS_PIECES * PIECE_BITS > 44, "pieces hold a mass");
static_assert(SAMPLE_MOST / SAMPLE_BLOCKS < 1 << (32 - PIECE_BITS), "a block's sum of pieces fits 32 bits");

// Orders tokens by likelihood: the lower id is the larger of equals.
__device__ __forceinline__ Token token_order(unsigned key, int id) {
    return static_cast<Token>(key) << 32 | (0xffffffffu - static_cast<unsigned>(id));
}
__device__ __forceinline__ unsigned token_key(Token token) { return static_cast<unsigned>(token >> 32); }
__device__ __forceinline__ int token_id(Token token) { return static_cast<int>(0xffffffffu - static_cast<unsigned>(token)); }

// The logit of a key.
__device__ __forceinline__ float logit_of(unsigned key) { return __uint_as_float(key & 0x80000000u ? key ^ 0x80000000u : ~key); }

// Over the lanes up to this one.
__device__ __forceinline__ Mass running_sum(Mass own) {
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        const Mass other = __shfl_up_sync(0xffffffff, own, step);
        if (threadIdx.x % WARP >= step) own += other;
    }
    return own;
}

// The sums of one block.
struct Bins {
    unsigned of[PIECES][RADIX_BINS];

    __device__ __forceinline__ static unsigned piece(Mass mass, int i) {
        return static_cast<unsigned>(mass >> (PIECE_BITS * i)) & ((1u << PIECE_BITS) - 1);
    }

    // Adds a number of each lane to its bin; all lanes of a warp together. Where they have one bin, as in a flat row, they are summed
    // first: shared memory adds to one place in turn.
    template <bool COUNTS> __device__ __forceinline__ void add(int bin, Mass own) {
        if constexpr (COUNTS) {
            if (own > 0) atomicAdd(&of[COUNT_PIECE][bin], 1u);
            return;
        }
        const unsigned lanes = __ballot_sync(0xffffffff, own > 0);
        if (lanes == 0) return;
        const int leader = __ffs(lanes) - 1;
        const int common = __shfl_sync(0xffffffff, bin, leader);
        if (__ballot_sync(0xffffffff, own > 0 && bin == common) == lanes) {
#pragma unroll
            for (int i = 0; i < MASS_PIECES; i++) {
                const unsigned sum = __reduce_add_sync(0xffffffff, piece(own, i));
                if (threadIdx.x % WARP == leader) atomicAdd(&of[i][common], sum);
            }
            if (threadIdx.x % WARP == leader) atomicAdd(&of[COUNT_PIECE][common], static_cast<unsigned>(__popc(lanes)));
        } else if (own > 0) {
#pragma unroll
            for (int i = 0; i < MASS_PIECES; i++) {
                if (piece(own, i) != 0) atomicAdd(&of[i][bin], piece(own, i));
            }
            atomicAdd(&of[COUNT_PIECE][bin], 1u);
        }
    }
};

// The sums of a row, pieces shifted to where they belong.
struct BinSums {
    Mass of[PIECES][RADIX_BINS];

    template <bool COUNTS> __device__ __forceinline__ Mass sum(int bin) const {
        return COUNTS ? of[COUNT_PIECE][bin] : of[0][bin] + of[1][bin] + of[2][bin];
    }
};

// Tokens of one block.
struct List {
    Token token[LISTED];
    int count;
};

// Bins and lists are read by other blocks until the next cluster_sync, so that there are two of each, used in turn.
struct SampleRoom {
    Bins bins[2];
    List lists[2];
    BinSums first, next;
    Token token[LISTED], found;
    Mass weight[LISTED], parts[LOGIT_THREADS / LISTED][LISTED];
    Token best[LOGIT_WARPS], all_best[SAMPLE_WARPS];
    Mass warps[LOGIT_WARPS], all_warps[SAMPLE_WARPS];
    Mass before, wanted, count, reached;
    int bin, id;
};
// Of the 227 KiB that a block of sm_90 can have.
static_assert(sizeof(SampleRoom) + 4 * (SAMPLE_MOST / SAMPLE_BLOCKS) <= 232448, "a share of the largest vocabulary fits");
