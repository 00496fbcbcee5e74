// Draws a token of each row: temperature first, then top_k, then top_p; a block per row.
//
// Probabilities are whole numbers: e^((logit - largest) / temperature) in units of 2^-44. Sums of those do not depend on the order in
// which threads add, so that the same random number gives the same token every time.
#pragma once
#include "sizes.cuh"
#include "logits.cuh"
#include "step.cuh"

using Mass = unsigned long long;
// With 2^18 tokens of the largest mass, sums stay below 2^62.
constexpr float MASS_OF_ONE = 17592186044416.0f;

// The tokens that are left: those above a key, and of those at it the ones up to an id.
struct Kept {
    unsigned key;
    int last;
    __device__ __forceinline__ bool has(unsigned key_of_token, int id) const {
        return key_of_token > key || (key_of_token == key && id <= last);
    }
};

struct SampleRoom {
    unsigned long long best[LOGIT_WARPS];
    Mass bins[RADIX_BINS];
    Mass warps[LOGIT_WARPS];
    Mass above;
    unsigned prefix;
    int id;
};

struct Row {
    const float* logits;
    int vocab;
    float largest, temperature;
    SampleRoom& room;

    __device__ __forceinline__ Mass mass(float logit) const {
        return __float2ull_rn(expf((logit - largest) / temperature) * MASS_OF_ONE);
    }

    // The ids of a warp are consecutive, so that sums over warps are in the order of ids.
    __device__ __forceinline__ int ids_of_warp() const { return round_up(ceil_div(vocab, LOGIT_WARPS), WARP); }

    // The sum of weight(logit, id) over the row, in every thread; room.warps holds the sum of each warp.
    template <class F> __device__ __forceinline__ Mass sum(F weight) {
        const int first = threadIdx.x / WARP * ids_of_warp(), end = min(first + ids_of_warp(), vocab);
        Mass mine = 0;
        for (int id = first + threadIdx.x % WARP; id < end; id += WARP) mine += weight(logits[id], id);
#pragma unroll
        for (int lane = WARP / 2; lane > 0; lane /= 2) mine += __shfl_xor_sync(0xffffffff, mine, lane);
        __syncthreads();
        if (threadIdx.x % WARP == 0) room.warps[threadIdx.x / WARP] = mine;
        __syncthreads();
        Mass all = 0;
        for (int warp = 0; warp < LOGIT_WARPS; warp++) all += room.warps[warp];
        return all;
    }

    // The first id at which the running sum of weight(logit, id), in the order of ids, reaches `wanted`: at least 1, at most all.
    template <class F> __device__ __forceinline__ int by_id(F weight, Mass wanted) {
        sum(weight);
        Mass before = 0;
        for (int warp = 0; warp < threadIdx.x / WARP; warp++) before += room.warps[warp];
        const bool here = before < wanted && wanted <= before + room.warps[threadIdx.x / WARP];
        if (here) {
            const int first = threadIdx.x / WARP * ids_of_warp(), end = min(first + ids_of_warp(), vocab), lane = threadIdx.x % WARP;
            for (int id = first; id < end; id += WARP) {
                const Mass own = id + lane < end ? weight(logits[id + lane], id + lane) : 0;
                Mass running = own;
#pragma unroll
                for (int step = 1; step < WARP; step *= 2) {
                    const Mass other = __shfl_up_sync(0xffffffff, running, step);
                    if (lane >= step) running += other;
                }
                const unsigned reached = __ballot_sync(0xffffffff, before + running >= wanted);
                if (reached) {
                    if (lane == 0) room.id = id + __ffs(reached) - 1;
                    break;
                }
                before += __shfl_sync(0xffffffff, running, WARP - 1);
            }
        }
        __syncthreads();
        return room.id;
    }

    // The key at which the running sum of weight(logit, id), from the largest key down, reaches `wanted`; room.above is the sum above
    // that key. Eight bits of the key at a time, from the top.
    template <class F> __device__ __forceinline__ unsigned by_key(F weight, Mass wanted) {
        if (threadIdx.x == 0) room.above = 0, room.prefix = 0;
        for (int shift = 24; shift >= 0; shift -= 8) {
            if (threadIdx.x < 256) room.bins[threadIdx.x] = 0;
            __syncthreads();
            const unsigned prefix = room.prefix;
            // All lanes of a warp stay together, since they add together.
            for (int first = 0; first < vocab; first += LOGIT_THREADS) {
                const int id = first + threadIdx.x;
                const float logit = id < vocab ? logits[id] : 0.0f;
                const unsigned key = key_of(logit);
                const bool counts = id < vocab && (shift == 24 || key >> (shift + 8) == prefix);
                add_to_bin(key >> shift & 255, counts ? weight(logit, id) : 0);
            }
            __syncthreads();
            if (threadIdx.x < WARP) find_bin(wanted);
            __syncthreads();
        }
        return room.prefix;
    }

    // Adds a number of each lane to its bin. Logits have few exponents, so that lanes often have one bin: what belongs to the first few
    // bins is summed over the warp before it is added, in halves of 22 bits, of which 32 fit 32 bits.
    __device__ __forceinline__ void add_to_bin(unsigned bin, Mass own) {
        unsigned left = __ballot_sync(0xffffffff, own > 0);
        for (int turn = 0; turn < 4 && left != 0; turn++) {
            const int leader = __ffs(left) - 1;
            const unsigned common = __shfl_sync(0xffffffff, bin, leader);
            const bool here = own > 0 && bin == common;
            const unsigned low = __reduce_add_sync(0xffffffff, here ? static_cast<unsigned>(own & 0x3fffff) : 0u);
            const unsigned high = __reduce_add_sync(0xffffffff, here ? static_cast<unsigned>(own >> 22) : 0u);
            if (threadIdx.x % WARP == leader) atomicAdd(&room.bins[common], (static_cast<Mass>(high) << 22) + low);
            if (here) own = 0;
            left = __ballot_sync(0xffffffff, own > 0);
        }
        if (own > 0) atomicAdd(&room.bins[bin], own);
    }

    // One warp: the bin, from the last down, at which the sum reaches `wanted`, joins the prefix. Lane l has bins 255 - 8 l and below.
    __device__ __forceinline__ void find_bin(Mass wanted) {
        const int lane = threadIdx.x;
        Mass own = 0;
        for (int i = 0; i < 8; i++) own += room.bins[255 - 8 * lane - i];
        Mass running = own;
#pragma unroll
        for (int step = 1; step < WARP; step *= 2) {
            const Mass other = __shfl_up_sync(0xffffffff, running, step);
            if (lane >= step) running += other;
        }
        const Mass above = room.above;
        const unsigned reached = __ballot_sync(0xffffffff, above + running >= wanted);
        if (reached == 0 || lane != __ffs(reached) - 1) return;
        Mass sum = above + running - own;
        int bin = 255 - 8 * lane;
        while (sum + room.bins[bin] < wanted) sum += room.bins[bin--];
        room.above = sum;
        room.prefix = room.prefix << 8 | static_cast<unsigned>(bin);
    }

    // The token at which the running sum of weight(logit, id) reaches `wanted`, the most likely first and the lower id of equals; and
    // in `reached` that sum.
    template <class F> __device__ __forceinline__ Kept by_likelihood(F weight, Mass wanted, Mass& reached) {
        const unsigned key = by_key(weight, wanted);
        const Mass above = room.above;
        auto equal = [&](float logit, int id) -> Mass { return key_of(logit) == key ? weight(logit, id) : 0; };
        const int id = by_id(equal, wanted - above);
        auto up_to = [&](float logit, int other) -> Mass { return other <= id ? equal(logit, other) : 0; };
        reached = above + sum(up_to);
        return {key, id};
    }
};

__device__ __forceinline__ void sample_rows(const float* logits, const float* temperature, const int* top_k, const float* top_p,
                                            const float* random, int* ids, int vocab, int rows) {
    __shared__ SampleRoom room;
    const long long at = blockIdx.x;
    wait_for_previous();
    start_next();
    if (at >= rows) return;
    logits += at * vocab;
    const unsigned long long best = largest_logit(logits, vocab, room.best);
    const int greedy = token_of(best), k = top_k[at];
    const float t = temperature[at], p = top_p[at];
    if (greedy == NO_TOKEN || t == 0.0f || k == 1) {
        if (threadIdx.x == 0) ids[at] = greedy;
        return;
    }
    Row row{logits, vocab, logits[greedy], t, room};
    // Everything, then the k most likely, then the fewest of those whose mass reaches top_p of theirs.
    Kept kept{0, vocab};
    if (k > 0 && k < vocab) {
        Mass count;
        kept = row.by_likelihood([](float, int) -> Mass { return 1; }, k, count);
    }
    auto mass_of = [&](float logit, int id) -> Mass { return kept.has(key_of(logit), id) ? row.mass(logit) : 0; };
    Mass mass = row.sum(mass_of);
    if (p < 1.0f) {
        const Mass wanted = static_cast<Mass>(ceil(static_cast<double>(p) * static_cast<double>(mass)));
        kept = row.by_likelihood(mass_of, wanted > 0 ? min(wanted, mass) : 1, mass);
    }
    const Mass drawn = min(static_cast<Mass>(static_cast<double>(random[at]) * static_cast<double>(mass)), mass - 1);
    // A nucleus is drawn from in the order of likelihood, anything else in the order of ids.
    int id;
    if (p < 1.0f) {
        Mass reached;
        id = row.by_likelihood(mass_of, drawn + 1, reached).last;
    } else {
        id = row.by_id(mass_of, drawn + 1);
    }
    if (threadIdx.x == 0) ids[at] = id;
}
