// The tokens of one step, as every kernel sees them. The host writes the arrays before the step; their addresses never change, so
// that a captured graph reads the next step's numbers.
#pragma once
#include "contract.cuh"

struct Step {
    const int* counts;     // [8]: tokens, sequences, logit rows, spans of several tokens, spans of one token
    const int* token_ids;  // [rows]; 0 in padded rows
    const int* positions;  // [rows]; 0 in padded rows
    const int* sequence;   // [rows]: the sequence of a row; -1 in padded rows, which write to no cache and no state
    const int* first;      // [sequences]: the first row of the sequence's span
    const int* length;     // [sequences]: tokens of the span
    const int* start;      // [sequences]: the position of its first token; that many tokens are cached already
    const int* slot;       // [sequences]: its recurrent state; below 0 where it has none
    const int* pages;      // [sequences, table_stride]: page i holds positions i * page_size ..
    const int* prefill;    // the sequences whose span has several tokens
    const int* decode;     // the sequences whose span has one token; -1 in padded entries
    const int* logit_row;  // [logit rows]: the row that wants logits
    unsigned* error;       // a bit per broken contract; the host reads it after the step
    int page_size;         // tokens of a page
    int table_stride;      // entries of a row of the page table
    int pages_of_cache;    // pages are below this
    int slots;             // states are below this
};

constexpr int COUNT_TOKENS = 0, COUNT_SEQUENCES = 1, COUNT_LOGIT_ROWS = 2, COUNT_PREFILL = 3, COUNT_DECODE = 4;

// Bits of the error word: what a value broke, after which it was clamped.
constexpr unsigned ERROR_TOKEN = 1, ERROR_PAGE = 2, ERROR_SLOT = 4, ERROR_ROW = 8, ERROR_EXPERT = 16, ERROR_NOT_FINITE = 32;

// A value of the host within 0 .. limit; what is not sets a bit of the error word and becomes 0.
__device__ __forceinline__ int checked(const Step& step, int value, int limit, unsigned bit) {
    if (static_cast<unsigned>(value) < static_cast<unsigned>(limit)) return value;
    atomicOr(step.error, bit);
    return 0;
}

// The page of a position of a sequence.
__device__ __forceinline__ int page_of(const Step& step, int sequence, int position) {
    TENON_ASSERT(sequence >= 0 && position >= 0 && position / step.page_size < step.table_stride);
    int page = step.pages[static_cast<long long>(sequence) * step.table_stride + position / step.page_size];
    return checked(step, page, step.pages_of_cache, ERROR_PAGE);
}

// That no other sequence of the step has this slot, by all threads of a block.
__device__ __forceinline__ bool is_own_slot(const Step& step, int sequence) {
    for (int other = threadIdx.x; other < step.counts[COUNT_SEQUENCES]; other += blockDim.x)
        if (other != sequence && step.slot[other] == step.slot[sequence]) return false;
    return true;
}

// Waits until what the previous kernel wrote can be read. A kernel whose TEMPLATE.toml says `overlaps` starts before that and may
// load weights, which no kernel writes, ahead of it.
__device__ __forceinline__ void wait_for_previous() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Lets the next kernel start its blocks; what it reads of ours still waits for our end.
__device__ __forceinline__ void start_next() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
