// Rotates the last elements of every head, in place. Used by bard-mla.
// Generated from kernel-templates/rope_tail/rope_tail.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "rope_tail.cuh"
namespace {
constexpr int HEAD_DIM = 64;
constexpr int ROTARY_DIM = 32;
constexpr bool INTERLEAVED = name_number("interleaved") == name_number("interleaved");
}
TENON_MANIFEST(rope_tail_hd64_rd32_interleaved, HEAD_DIM, ROTARY_DIM, name_number("interleaved"))
extern "C" __global__ void __launch_bounds__(256) rope_tail_hd64_rd32_interleaved(bf16* x, const float* cos, const float* sin, int dim, int rows) {
    rope_tail<HEAD_DIM, ROTARY_DIM, INTERLEAVED>(x, cos, sin, dim, rows);
}
