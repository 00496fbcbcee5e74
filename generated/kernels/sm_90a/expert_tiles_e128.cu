// The pairs of tokens and experts sorted by expert, and tiles of at most 128 of one expert. Used by mistral-small-4, mistral-small-4-nvfp4.
// Generated from kernel-templates/expert_tiles/expert_tiles.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "expert_tiles.cuh"
namespace {
constexpr int EXPERTS = 128;
static_assert(EXPERTS >= 1 && EXPERTS <= 512, "counts of 32 warps fit in shared memory");
}
TENON_MANIFEST(expert_tiles_e128, EXPERTS)
extern "C" __global__ void __launch_bounds__(1024) expert_tiles_e128(const int* ids, int* order, int* offsets, int* tiles, int top_k, int rows) {
    expert_tiles<EXPERTS>(ids, order, offsets, tiles, top_k, rows);
}
