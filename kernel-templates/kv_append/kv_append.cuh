// Writes keys and values of bf16 rows to the paged cache, rounded to its dtype.
#pragma once
#include "head.cuh"

template <int HEAD_DIM, class Cache>
__device__ __forceinline__ void kv_append(const Step& step, const bf16* k, const bf16* v, void* kv, int num_key_value_heads, int rows) {
    using H = Head<HEAD_DIM, 0, 0, false>;
    // Of a row, the heads of keys and then those of values: their number within the two is also that within a page.
    const int heads_of_row = 2 * num_key_value_heads;
    wait_for_previous();
    start_next();
    each_head<H>(static_cast<long long>(rows) * heads_of_row, [&](long long index, bool valid) {
        const int row = static_cast<int>(index / heads_of_row), head = static_cast<int>(index - static_cast<long long>(row) * heads_of_row);
        const int sequence = step.sequence[row];
        if (!valid || sequence < 0) return;
        const bool is_value = head >= num_key_value_heads;
        const int of_kind = is_value ? head - num_key_value_heads : head;
        const long long from = (static_cast<long long>(row) * num_key_value_heads + of_kind) * HEAD_DIM;
        const int position = step.positions[row];
        const long long page = page_of(step, sequence, position);
        const long long to = ((page * heads_of_row + head) * step.page_size + position % step.page_size) * HEAD_DIM;
        H h;
        h.load((is_value ? v : k) + from);
        h.store(static_cast<Cache*>(kv) + to);
    });
}
