// Heads of a row: a few lanes of a warp hold one, in pairs that are rotated and the rest.
#pragma once
#include "step.cuh"
#include "vector.cuh"
#include "warp.cuh"

__host__ __device__ constexpr int power_of_two_from(int x) {
    int power = 1;
    while (power < x) power *= 2;
    return power;
}
__host__ __device__ constexpr int smaller(int x, int y) { return x < y ? x : y; }
__host__ __device__ constexpr int larger(int x, int y) { return x < y ? y : x; }

// A head of HEAD_DIM elements of which ROTARY from FIRST on are rotated: the first ones or the last ones. Pair i is elements i and
// i + ROTARY / 2 of those, or 2 i and 2 i + 1 where INTERLEAVED.
template <int HEAD_DIM, int ROTARY, int FIRST, bool INTERLEAVED> struct Head {
    static_assert(ROTARY % 2 == 0 && FIRST >= 0 && FIRST + ROTARY <= HEAD_DIM, "rotary elements are pairs within the head");
    static_assert(FIRST == 0 || FIRST == HEAD_DIM - ROTARY, "the rest of a head is in one piece");
    static constexpr int HALF = ROTARY / 2, REST = HEAD_DIM - ROTARY, REST_AT = FIRST > 0 ? 0 : ROTARY;
    static_assert(!INTERLEAVED || (FIRST % 2 == 0 && HEAD_DIM % 2 == 0), "neighbours that are read at once are aligned");
    // Elements of a vector: whatever keeps it aligned in the head, for any number of heads before it. Interleaved pairs are read as
    // vectors of twice as many elements.
    static constexpr int V = smaller(vector_of(HALF), smaller(vector_of(FIRST), vector_of(HEAD_DIM)) / (INTERLEAVED ? 2 : 1));
    static constexpr int RV = smaller(smaller(vector_of(REST), vector_of(REST_AT)), vector_of(HEAD_DIM));
    static constexpr int LANES = smaller(WARP, power_of_two_from(larger(HALF / V, REST / RV)));
    static constexpr int HEADS_OF_WARP = WARP / LANES;
    static constexpr int PAIRS = ceil_div(HALF / V, LANES), RESTS = ceil_div(REST / RV, LANES);

    float low[larger(PAIRS, 1)][V], high[larger(PAIRS, 1)][V], rest[larger(RESTS, 1)][RV];

    static __device__ __forceinline__ int lane() { return threadIdx.x % LANES; }
    static __device__ __forceinline__ int pair(int j) { return (j * LANES + lane()) * V; }
    static __device__ __forceinline__ int other(int j) { return (j * LANES + lane()) * RV; }
    static __device__ __forceinline__ bool has_pair(int j) { return pair(j) < HALF; }
    static __device__ __forceinline__ bool has_rest(int j) { return other(j) < REST; }

    // Calls f(low, high, pair) for the vectors of pairs of this lane.
    template <class F> __device__ __forceinline__ void pairs(F f) {
#pragma unroll
        for (int j = 0; j < PAIRS; j++) {
            if (has_pair(j)) f(low[j], high[j], pair(j));
        }
    }
    // Calls f(elements, first) for the vectors of the rest of this lane.
    template <class F> __device__ __forceinline__ void rests(F f) {
#pragma unroll
        for (int j = 0; j < RESTS; j++) {
            if (has_rest(j)) f(rest[j], REST_AT + other(j));
        }
    }

    template <class X> static __device__ __forceinline__ void load_pair(const X* head, float (&a)[V], float (&b)[V], int pair) {
        if constexpr (INTERLEAVED) {
            float both[2 * V];
            load_vector<2 * V>(head + FIRST + 2 * pair, both);
#pragma unroll
            for (int i = 0; i < V; i++) a[i] = both[2 * i], b[i] = both[2 * i + 1];
        } else {
            load_vector<V>(head + FIRST + pair, a);
            load_vector<V>(head + FIRST + HALF + pair, b);
        }
    }

    // Zeros everywhere, so that a lane without elements, or a head that is none, adds nothing to a sum.
    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int j = 0; j < PAIRS; j++) {
#pragma unroll
            for (int i = 0; i < V; i++) low[j][i] = high[j][i] = 0.0f;
        }
#pragma unroll
        for (int j = 0; j < RESTS; j++) {
#pragma unroll
            for (int i = 0; i < RV; i++) rest[j][i] = 0.0f;
        }
    }

    template <class X> __device__ __forceinline__ void load_pairs(const X* head) {
        pairs([&](float(&a)[V], float(&b)[V], int pair) { load_pair(head, a, b, pair); });
    }

    template <class X> __device__ __forceinline__ void load(const X* head) {
        load_pairs(head);
        rests([&](float(&v)[RV], int at) { load_vector<RV>(head + at, v); });
    }

    template <class X> __device__ __forceinline__ void store_pairs(X* head) {
        pairs([&](float(&a)[V], float(&b)[V], int pair) {
            if constexpr (INTERLEAVED) {
                float both[2 * V];
#pragma unroll
                for (int i = 0; i < V; i++) both[2 * i] = a[i], both[2 * i + 1] = b[i];
                store_vector<2 * V>(head + FIRST + 2 * pair, both);
            } else {
                store_vector<V>(head + FIRST + pair, a);
                store_vector<V>(head + FIRST + HALF + pair, b);
            }
        });
    }

    template <class X> __device__ __forceinline__ void store(X* head) {
        store_pairs(head);
        rests([&](float(&v)[RV], int at) { store_vector<RV>(head + at, v); });
    }

    // The sum over the lanes of this head. All lanes of the warp take part.
    static __device__ __forceinline__ float sum(float x) {
#pragma unroll
        for (int lane = LANES / 2; lane > 0; lane /= 2) x += __shfl_xor_sync(0xffffffff, x, lane);
        return x;
    }

    // The sum of squares of the rest, over its lanes.
    __device__ __forceinline__ float squares_of_rest() {
        float squares = 0.0f;
        rests([&](float(&v)[RV], int) {
#pragma unroll
            for (int i = 0; i < RV; i++) squares += v[i] * v[i];
        });
        return sum(squares);
    }
    __device__ __forceinline__ float squares_of_pairs() {
        float squares = 0.0f;
        pairs([&](float(&a)[V], float(&b)[V], int) {
#pragma unroll
            for (int i = 0; i < V; i++) squares += a[i] * a[i] + b[i] * b[i];
        });
        return sum(squares);
    }

    // The rest becomes weight * (x * scale); weight[0] belongs to the first element of the head.
    __device__ __forceinline__ void weigh_rest(const float* weight, float scale) {
        rests([&](float(&v)[RV], int at) {
            float w[RV];
            load_vector<RV>(weight + at, w);
#pragma unroll
            for (int i = 0; i < RV; i++) v[i] = w[i] * (v[i] * scale);
        });
    }

    // All elements become weight * (x * scale).
    __device__ __forceinline__ void weigh(const float* weight, float scale) {
        pairs([&](float(&a)[V], float(&b)[V], int pair) {
            float u[V], w[V];
            load_pair(weight, u, w, pair);
#pragma unroll
            for (int i = 0; i < V; i++) a[i] = u[i] * (a[i] * scale), b[i] = w[i] * (b[i] * scale);
        });
        weigh_rest(weight, scale);
    }

    // All elements become weight * x / sqrt(mean of squares + eps). All lanes of the warp take part.
    __device__ __forceinline__ void normalise(const float* weight, float eps) {
        weigh(weight, 1.0f / sqrtf((squares_of_pairs() + squares_of_rest()) / HEAD_DIM + eps));
    }

    // a' = a cos - b sin, b' = b cos + a sin; cos and sin are those of the row's token.
    __device__ __forceinline__ void rotate(const float* cos, const float* sin) {
        pairs([&](float(&a)[V], float(&b)[V], int pair) {
            float c[V], s[V];
            load_vector<V>(cos + pair, c);
            load_vector<V>(sin + pair, s);
#pragma unroll
            for (int i = 0; i < V; i++) {
                const float x = a[i], y = b[i];
                a[i] = x * c[i] - y * s[i];
                b[i] = y * c[i] + x * s[i];
            }
        });
    }
};

// Calls f(head, valid) for every head below `count`, each by its lanes; `valid` is false for lanes beyond the last one, which only
// take part in sums. Launches have a block of 256 threads per 16 heads; a block takes every gridDim-th batch, so that any number of
// lanes per head is right.
template <class H, class F> __device__ __forceinline__ void each_head(long long count, F f) {
    TENON_ASSERT(count > 0 && blockDim.x % WARP == 0 && threads_of_block() == blockDim.x);
    const int warps = blockDim.x / WARP;
    const long long stride = static_cast<long long>(gridDim.x) * warps * H::HEADS_OF_WARP;
    long long first = (static_cast<long long>(blockIdx.x) * warps + threadIdx.x / WARP) * H::HEADS_OF_WARP;
    // The bound is that of the whole warp, so that its sums have all lanes.
    for (; first < count; first += stride) {
        const long long head = first + threadIdx.x % WARP / H::LANES;
        f(head < count ? head : count - 1, head < count);
    }
}
