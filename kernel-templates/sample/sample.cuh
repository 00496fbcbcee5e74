// Draws a token of each row: temperature first, then top_k, then top_p; a cluster of thread blocks per row.
//
// Each block holds its share of the row in shared memory, so that the row is read from the device's memory once. Probabilities are whole
// numbers: e^((logit - largest) / temperature) in units of 2^-44. Sums of those do not depend on the order in which threads add, so that
// the same random number gives the same token every time.
#pragma once
#include "cluster.cuh"
#include "logits.cuh"
#include "sample_room.cuh"
#include "step.cuh"

// The tokens that are left: those above a key, and of those at it the ones up to an id.
struct Kept {
    unsigned key;
    int last;
    __device__ __forceinline__ bool has(unsigned key_of_token, int id) const {
        return key_of_token > key || (key_of_token == key && id <= last);
    }
};

struct Row {
    const float* logits;  // this block's share
    int first, count;     // its ids
    float largest, temperature, bins_of_one;
    SampleRoom& room;
    int rank, turn, list_turn;

    __device__ __forceinline__ Mass mass(float logit) const {
        return __float2ull_rn(expf((logit - largest) / temperature) * MASS_OF_ONE);
    }

    // Bins of equal width below the largest logit, of which the last has everything that no mass is left of, and more. A larger logit
    // never has a later bin, since subtraction, product and conversion keep the order.
    __device__ __forceinline__ int bin_of(float logit) const {
        return min(static_cast<int>((largest - logit) * bins_of_one), RADIX_BINS - 1);
    }

    // The sums over the row of weight(logit, key, id) in each bin(logit, key), and how many are above 0, in `sums` of every block.
    // With COUNTS weights are 0 or 1.
    template <bool COUNTS, class F, class B> __device__ __forceinline__ void histogram(F weight, B bin, BinSums& sums) {
        Bins& mine = room.bins[turn];
        turn ^= 1;
        static_assert(PIECES * RADIX_BINS == LOGIT_THREADS, "a thread per piece of a bin");
        const int piece = threadIdx.x / RADIX_BINS, at = threadIdx.x % RADIX_BINS;
        mine.of[piece][at] = 0;
        __syncthreads();
        // All lanes of a warp stay together, since they add together.
#pragma unroll 1
        for (int start = 0; start < count; start += LOGIT_THREADS) {
            const int i = start + threadIdx.x;
            const float logit = i < count ? logits[i] : 0.0f;
            const unsigned key = key_of(logit);
            const Mass own = i < count ? weight(logit, key, first + i) : 0;
            mine.add<COUNTS>(bin(logit, key), own);
        }
        cluster_sync();
        if (!COUNTS || piece == COUNT_PIECE) {
            Mass all = 0;
#pragma unroll
            for (int block = 0; block < SAMPLE_BLOCKS; block++) all += *in_block(&mine.of[piece][at], block);
            sums.of[piece][at] = piece == COUNT_PIECE ? all : all << (PIECE_BITS * piece);
        }
    }

    // The first bin at which the running sum reaches wanted(sum of all), into room.bin; the sum before it and what was wanted too.
    template <bool COUNTS, class W> __device__ __forceinline__ void find_bin(const BinSums& sums, W wanted_of) {
        __syncthreads();
        if (threadIdx.x < WARP) {
            constexpr int EACH = RADIX_BINS / WARP;
            const int lane = threadIdx.x;
            Mass own = 0;
#pragma unroll 2
            for (int i = 0; i < EACH; i++) own += sums.sum<COUNTS>(EACH * lane + i);
            const Mass running = running_sum(own);
            const Mass wanted = wanted_of(__shfl_sync(0xffffffff, running, WARP - 1));
            const unsigned reached = __ballot_sync(0xffffffff, running >= wanted);
            if (reached != 0 && lane == __ffs(reached) - 1) {
                Mass before = running - own;
                int bin = EACH * lane;
                while (before + sums.sum<COUNTS>(bin) < wanted) before += sums.sum<COUNTS>(bin++);
                room.bin = bin, room.before = before, room.wanted = wanted;
                room.count = sums.of[COUNT_PIECE][bin];
            }
        }
        __syncthreads();
    }

    // The first id at which the running sum of weight(logit, key, id), in the order of ids, reaches wanted(sum of all): at least 1, at
    // most all. The ids of a warp are consecutive, so that sums over warps are in the order of ids.
    template <class F, class W> __device__ __forceinline__ int by_id(F weight, W wanted_of) {
        const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        const int each = round_up(ceil_div(count, LOGIT_WARPS), WARP), start = warp * each, end = min(start + each, count);
        auto own_of = [&](int i) -> Mass { return i < end ? weight(logits[i], key_of(logits[i]), first + i) : 0; };
        Mass mine = 0;
#pragma unroll 1
        for (int i = start + lane; i < end; i += WARP) mine += own_of(i);
#pragma unroll
        for (int other = WARP / 2; other > 0; other /= 2) mine += __shfl_xor_sync(0xffffffff, mine, other);
        if (lane == 0) room.warps[warp] = mine;
        cluster_sync();
        if (threadIdx.x < SAMPLE_WARPS) room.all_warps[threadIdx.x] = *in_block(&room.warps[lane], warp);
        __syncthreads();
        // Every warp learns which has the id; lane l looks at the sums of eight warps.
        constexpr int EACH = SAMPLE_WARPS / WARP;
        Mass own = 0;
#pragma unroll 2
        for (int i = 0; i < EACH; i++) own += room.all_warps[EACH * lane + i];
        Mass before = running_sum(own);
        const Mass wanted = wanted_of(__shfl_sync(0xffffffff, before, WARP - 1));
        const int holder = __ffs(__ballot_sync(0xffffffff, before >= wanted)) - 1;
        before = __shfl_sync(0xffffffff, before - own, holder);
        int found = EACH * holder;
        while (found < EACH * holder + EACH - 1 && before + room.all_warps[found] < wanted) before += room.all_warps[found++];
        if (found == rank * LOGIT_WARPS + warp) {
#pragma unroll 1
            for (int i = start; i < end; i += WARP) {
                const Mass running = running_sum(own_of(i + lane));
                const unsigned reached = __ballot_sync(0xffffffff, before + running >= wanted);
                if (reached) {
                    if (lane < SAMPLE_BLOCKS) *in_block(&room.id, lane) = first + i + __ffs(reached) - 1;
                    break;
                }
                before += __shfl_sync(0xffffffff, running, WARP - 1);
            }
        }
        cluster_sync();
        return room.id;
    }

    // Of at most LISTED tokens, the one at which the running sum reaches `wanted` over `before`, the most likely first and the lower id
    // of equals: each is compared with every other.
    template <class F> __device__ __forceinline__ Kept by_list(F weight, int listed, Mass before, Mass wanted, Mass& reached) {
        List& mine = room.lists[list_turn];
        list_turn ^= 1;
        if (threadIdx.x == 0) mine.count = 0;
        __syncthreads();
#pragma unroll 1
        for (int i = threadIdx.x; i < count; i += LOGIT_THREADS) {
            const unsigned key = key_of(logits[i]);
            if (weight(logits[i], key, first + i) > 0) mine.token[atomicAdd(&mine.count, 1)] = token_order(key, first + i);
        }
        cluster_sync();
        static_assert(LOGIT_THREADS % LISTED == 0, "as many threads for each token");
        constexpr int PARTS = LOGIT_THREADS / LISTED;
        const int at = threadIdx.x % LISTED, part = threadIdx.x / LISTED;
        if (threadIdx.x < listed) {
            int block = 0, i = threadIdx.x, held = *in_block(&mine.count, 0);
            for (; i >= held && block < SAMPLE_BLOCKS - 1; held = *in_block(&mine.count, block)) i -= held, block++;
            const Token token = *in_block(&mine.token[i], block);
            room.token[at] = token;
            room.weight[at] = weight(logit_of(token_key(token)), token_key(token), token_id(token));
        }
        __syncthreads();
        Mass running = 0;
        if (at < listed) {
            for (int i = part; i < listed; i += PARTS) running += room.token[i] >= room.token[at] ? room.weight[i] : 0;
        }
        room.parts[part][at] = running;
        __syncthreads();
        if (threadIdx.x < listed) {
            for (int other = 1; other < PARTS; other++) running += room.parts[other][at];
            running += before;
            if (running >= wanted && running - room.weight[at] < wanted) room.found = room.token[at], room.reached = running;
        }
        __syncthreads();
        reached = room.reached;
        return {token_key(room.found), token_id(room.found)};
    }

    // The token at which the running sum of weight(logit, key, id) reaches wanted(sum of all), the most likely first and the lower id of
    // equals; and in `reached` that sum. A weight above 0 is one(logit). room.first holds the sums of the weights by bin_of.
    template <bool COUNTS, class F, class O, class W>
    __device__ __forceinline__ Kept by_likelihood(F weight, O one, W wanted_of, Mass& reached) {
        find_bin<COUNTS>(room.first, wanted_of);
        const int bin = room.bin;
        const Mass wanted = room.wanted;
        Mass before = room.before;
        // Then eight bits of the key at a time, from the top, until few tokens are left.
        unsigned prefix = 0;
        int shift = 32;
        Mass left = room.count;
        auto weight_left = [&](float logit, unsigned key, int id) -> Mass {
            return bin_of(logit) == bin && (shift == 32 || key >> shift == prefix) ? weight(logit, key, id) : 0;
        };
        while (left > LISTED && shift > 0) {
            const int next = shift - 8;
            histogram<COUNTS>(weight_left, [&](float, unsigned key) { return static_cast<int>(~key >> next & 255); }, room.next);
            find_bin<COUNTS>(room.next, [&](Mass) { return wanted - before; });
            prefix = prefix << 8 | static_cast<unsigned>(255 - room.bin);
            before += room.before;
            left = room.count;
            shift = next;
        }
        if (left <= LISTED) return by_list(weight_left, static_cast<int>(left), before, wanted, reached);
        // Equal tokens: the sum is reached at one of them that their number tells.
        const Mass each = one(logit_of(prefix)), ordinal = (wanted - before + each - 1) / each;
        reached = before + ordinal * each;
        auto equal = [&](float logit, unsigned key, int id) -> Mass { return key == prefix && weight(logit, key, id) > 0 ? 1 : 0; };
        return {prefix, by_id(equal, [&](Mass) { return ordinal; })};
    }

    // The least mass that is top_p of a mass.
    static __device__ __forceinline__ Mass share_of(Mass mass, float top_p) {
        const Mass share = static_cast<Mass>(ceil(static_cast<double>(top_p) * static_cast<double>(mass)));
        return share > 0 ? min(share, mass) : 1;
    }

    // The id that a random number draws, after top_k and top_p.
    __device__ __forceinline__ int draw(int top_k, int vocab, float top_p, float random) {
        const auto spread = [&](float logit, unsigned) { return bin_of(logit); };
        const auto drawn = [&](Mass mass) {
            return min(static_cast<Mass>(static_cast<double>(random) * static_cast<double>(mass)), mass - 1) + 1;
        };
        Kept kept{0, vocab};
        Mass reached = 0;
        if (top_k > 0 && top_k < vocab) {
            const auto each = [](float, unsigned, int) -> Mass { return 1; };
            histogram<true>(each, spread, room.first);
            kept = by_likelihood<true>(each, [](float) -> Mass { return 1; }, [&](Mass) -> Mass { return top_k; }, reached);
        }
        const auto mass_of = [&](float logit, unsigned key, int id) -> Mass { return kept.has(key, id) ? mass(logit) : 0; };
        if (top_p >= 1.0f) return by_id(mass_of, drawn);
        // A nucleus, the fewest most likely tokens whose mass reaches top_p of all, is drawn from in the order of likelihood, anything else
        // in the order of ids. What is drawn from the nucleus comes before its end, so that no token need be left out for it.
        const auto one = [&](float logit) { return mass(logit); };
        histogram<false>(mass_of, spread, room.first);
        int id = 0;
#pragma unroll 1
        for (int step = 0; step < 2; step++) {
            const Mass number = step == 0 ? 0 : drawn(reached);
            const auto wanted = [&](Mass mass) { return step == 0 ? share_of(mass, top_p) : number; };
            id = by_likelihood<false>(mass_of, one, wanted, reached).last;
        }
        return id;
    }
};

// Copies a block's share of a row to shared memory and returns the largest logit of the row, as largest_logit does.
__device__ __forceinline__ unsigned long long load_share(const float* logits, float* share, int first, int count, bool whole_vectors,
                                                         SampleRoom& room) {
    unsigned long long best = 0;
    auto take = [&](float logit, int i) { best = larger_of(best, token_order(key_of(logit), first + i)); };
    if (whole_vectors) {
#pragma unroll 4
        for (int i = threadIdx.x; i < count / 4; i += LOGIT_THREADS) {
            const float4 four = reinterpret_cast<const float4*>(logits + first)[i];
            reinterpret_cast<float4*>(share)[i] = four;
            take(four.x, 4 * i);
            take(four.y, 4 * i + 1);
            take(four.z, 4 * i + 2);
            take(four.w, 4 * i + 3);
        }
    } else {
#pragma unroll 4
        for (int i = threadIdx.x; i < count; i += LOGIT_THREADS) {
            const float logit = logits[first + i];
            share[i] = logit;
            take(logit, i);
        }
    }
#pragma unroll
    for (int lane = WARP / 2; lane > 0; lane /= 2) best = larger_of(best, __shfl_xor_sync(0xffffffff, best, lane));
    if (threadIdx.x % WARP == 0) room.best[threadIdx.x / WARP] = best;
    cluster_sync();
    if (threadIdx.x < SAMPLE_WARPS) room.all_best[threadIdx.x] = *in_block(&room.best[threadIdx.x % WARP], threadIdx.x / WARP);
    __syncthreads();
    best = 0;
    for (int i = threadIdx.x % WARP; i < SAMPLE_WARPS; i += WARP) best = larger_of(best, room.all_best[i]);
#pragma unroll
    for (int lane = WARP / 2; lane > 0; lane /= 2) best = larger_of(best, __shfl_xor_sync(0xffffffff, best, lane));
    return best;
}

__device__ __forceinline__ void sample_rows(const float* logits, const float* temperature, const int* top_k, const float* top_p,
                                            const float* random, int* ids, int vocab, int rows) {
    __shared__ SampleRoom room;
    extern __shared__ __align__(16) float share[];
    const long long at = blockIdx.x / SAMPLE_BLOCKS;
    const int rank = block_of_cluster(), each = 4 * ceil_div(vocab, 4 * SAMPLE_BLOCKS);
    const int first = min(rank * each, vocab), count = min(each, vocab - first);
    TENON_ASSERT(rank < SAMPLE_BLOCKS && dynamic_shared_bytes() >= each * sizeof(float) && first + count <= vocab);
    wait_for_previous();
    start_next();
    if (at >= rows) return;
    const unsigned long long best = load_share(logits + at * vocab, share, first, count, vocab % 4 == 0, room);
    int id = token_of(best);
    const int k = top_k[at];
    const float t = temperature[at];
    if (id != NO_TOKEN && t != 0.0f && k != 1) {
        Row row{share, first, count, logit_of(token_key(best)), t, BINS_OF_ONE / t, room, rank, 0, 0};
        id = row.draw(k, vocab, top_p[at], random[at]);
    }
    if (rank == 0 && threadIdx.x == 0) ids[at] = id;
    // Others may still read what this block has gathered.
    cluster_sync();
}
