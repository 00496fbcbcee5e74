// What happens to queries, keys and values between their products and attention: norms of heads, rotation, and the append to the
// paged cache, without roundings in between.
#pragma once
#include "head.cuh"

template <int HEAD_DIM, int ROTARY_DIM, bool INTERLEAVED, bool NORM, class Cache>
__device__ __forceinline__ void rope_append(const Step& step, bf16* q, const bf16* k, const bf16* v, const float* q_weight,
                                            const float* k_weight, float eps, const float* cos, const float* sin, void* kv,
                                            int num_attention_heads, int num_key_value_heads, int rows) {
    using H = Head<HEAD_DIM, ROTARY_DIM, 0, INTERLEAVED>;
    // Of a row, the heads of queries, keys and values in this order.
    const int heads_of_row = num_attention_heads + 2 * num_key_value_heads;
    wait_for_previous();
    start_next();
    each_head<H>(static_cast<long long>(rows) * heads_of_row, [&](long long index, bool valid) {
        const int row = static_cast<int>(index / heads_of_row), head = static_cast<int>(index - static_cast<long long>(row) * heads_of_row);
        const bool is_query = head < num_attention_heads, is_value = head >= num_attention_heads + num_key_value_heads;
        // A key's or value's number in a page: keys first.
        const int of_page = head - num_attention_heads;
        const int of_kind = is_query ? head : is_value ? of_page - num_key_value_heads : of_page;
        const long long from = static_cast<long long>(row) * (is_query ? num_attention_heads : num_key_value_heads) + of_kind;
        H h;
        h.clear();
        if (valid) h.load((is_query ? q : is_value ? v : k) + from * HEAD_DIM);
        if constexpr (NORM) {
            // All lanes sum, those of values too, which then keep what they have.
            const float scale = 1.0f / sqrtf((h.squares_of_pairs() + h.squares_of_rest()) / HEAD_DIM + eps);
            if (!is_value) h.weigh(is_query ? q_weight : k_weight, scale);
        }
        if (!is_value) h.rotate(cos + static_cast<long long>(row) * H::HALF, sin + static_cast<long long>(row) * H::HALF);
        if (!valid) return;
        if (is_query) {
            h.store(q + from * HEAD_DIM);
            return;
        }
        const int sequence = step.sequence[row];
        if (sequence < 0) return;
        const int position = step.positions[row];
        const long long page = page_of(step, sequence, position);
        const long long to = ((page * 2 * num_key_value_heads + of_page) * step.page_size + position % step.page_size) * HEAD_DIM;
        h.store(static_cast<Cache*>(kv) + to);
    });
}
