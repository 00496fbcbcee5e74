// Routing: a warp turns the logits of a token into its experts, the best first, and their weights.
#pragma once
#include "activation.cuh"
#include "step.cuh"
#include "warp.cuh"

constexpr int ROUTE_WARPS = 4;
constexpr int SCORE_SOFTMAX = 0, GROUP_TOP2 = 1;

struct RouteRule {
    int top_k, scores, groups, top_groups, group_score, normalise;
    float scaling;
};

// Keys have the order of the floats. 0 stands below all floats but NaN, which no choice is.
__device__ __forceinline__ unsigned order_key(float x) {
    const unsigned bits = __float_as_uint(x + 0.0f);  // -0 is 0
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

// Sets the choices of all but the best groups to minus infinity; of equal groups the lower one is better. `choice` and `of_group` have
// room for EXPERTS values that the warp shares.
template <int EXPERTS> __device__ __forceinline__ void keep_groups(float* choice, float* of_group, const RouteRule& rule) {
    const int lane = threadIdx.x % WARP, size = EXPERTS / rule.groups;
    for (int group = 0; group < rule.groups; group++) {
        float first = -INFINITY, second = -INFINITY;
        for (int i = lane; i < size; i += WARP) {
            const float x = choice[group * size + i];
            second = fmaxf(second, fminf(first, x));
            first = fmaxf(first, x);
        }
#pragma unroll
        for (int other = WARP / 2; other > 0; other /= 2) {
            const float its_first = __shfl_xor_sync(0xffffffff, first, other), its_second = __shfl_xor_sync(0xffffffff, second, other);
            second = fmaxf(fmaxf(second, its_second), fminf(first, its_first));
            first = fmaxf(first, its_first);
        }
        if (lane == 0) of_group[group] = rule.group_score == GROUP_TOP2 ? first + second : first;
    }
    __syncwarp();
    for (int e = lane; e < rule.groups * size; e += WARP) {
        const int group = e / size;
        const float score = of_group[group];
        int better = 0;
        for (int other = 0; other < rule.groups; other++) better += of_group[other] > score || (of_group[other] == score && other < group);
        if (better >= rule.top_groups) choice[e] = -INFINITY;
    }
    __syncwarp();
}

template <int EXPERTS>
__device__ __forceinline__ void route(const Step& step, const float* router, const float* bias, int* ids, float* weights,
                                      const RouteRule& rule, int rows) {
    constexpr int EACH = (EXPERTS + WARP - 1) / WARP;
    __shared__ float choices[ROUTE_WARPS][EXPERTS], groups[ROUTE_WARPS][EXPERTS];
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, row = blockIdx.x * ROUTE_WARPS + warp;
    wait_for_previous();
    start_next();
    TENON_ASSERT(threads_of_block() == ROUTE_WARPS * WARP && rule.top_k <= EXPERTS && rule.groups > 0 && EXPERTS % rule.groups == 0);
    if (row >= rows) return;
    ids += static_cast<long long>(row) * rule.top_k;
    weights += static_cast<long long>(row) * rule.top_k;
    if (step.sequence[row] < 0) {
        for (int k = lane; k < rule.top_k; k += WARP) ids[k] = -1, weights[k] = 0.0f;
        return;
    }
    const float* logits = router + static_cast<long long>(row) * EXPERTS;
    // Expert lane + 32 i is at [i]; what is over the experts has the score of a logit of minus infinity.
    float scores[EACH], choice[EACH];
    float most = -INFINITY;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        scores[i] = lane + WARP * i < EXPERTS ? logits[lane + WARP * i] : -INFINITY;
        most = fmaxf(most, scores[i]);
    }
    if (rule.scores == SCORE_SOFTMAX) {
        most = warp_max(most);
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            if (lane + WARP * i < EXPERTS) scores[i] = expf(scores[i] - most), sum += scores[i];
        }
        sum = warp_sum(sum);
#pragma unroll
        for (int i = 0; i < EACH; i++) scores[i] = scores[i] / sum;
    } else {
#pragma unroll
        for (int i = 0; i < EACH; i++) scores[i] = sigmoid(scores[i]);
    }
    // NaN is chosen last, and shows in the weights where it is chosen.
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const int e = lane + WARP * i;
        choice[i] = bias && e < EXPERTS ? scores[i] + bias[e] : scores[i];
        if (isnan(choice[i])) choice[i] = -INFINITY;
    }
    if (rule.top_groups < rule.groups) {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            if (lane + WARP * i < EXPERTS) choices[warp][lane + WARP * i] = choice[i];
        }
        __syncwarp();
        keep_groups<EXPERTS>(choices[warp], groups[warp], rule);
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            if (lane + WARP * i < EXPERTS) choice[i] = choices[warp][lane + WARP * i];
        }
    }
    unsigned keys[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) keys[i] = lane + WARP * i < EXPERTS ? order_key(choice[i]) : 0;
    // Lane k keeps the k-th route.
    int expert = 0;
    float weight = 0.0f;
    for (int k = 0; k < rule.top_k; k++) {
        unsigned best = keys[0];
        int at = 0;
#pragma unroll
        for (int i = 1; i < EACH; i++) {
            if (keys[i] > best) best = keys[i], at = i;
        }
        const unsigned top = __reduce_max_sync(0xffffffff, best);
        const unsigned winner = __reduce_min_sync(0xffffffff, best == top ? lane + WARP * at : EXPERTS);
        float score = 0.0f;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            if (winner == lane + WARP * i) keys[i] = 0, score = scores[i];
        }
        score = __shfl_sync(0xffffffff, score, winner % WARP);
        if (lane == k) expert = winner, weight = score;
    }
    if (rule.normalise) {
        float sum = 0.0f;
        for (int k = 0; k < rule.top_k; k++) sum += __shfl_sync(0xffffffff, weight, k);
        weight /= sum + 1e-20f;
    }
    if (lane < rule.top_k) ids[lane] = expert, weights[lane] = weight * rule.scaling;
}
