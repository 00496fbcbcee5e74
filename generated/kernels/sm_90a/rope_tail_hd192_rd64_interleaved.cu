// Rotates the last elements of every head, in place. Used by deepseek-v3.
// Generated from kernel-templates/rope_tail/rope_tail.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "rope_tail.cuh"
namespace {
constexpr int HEAD_DIM = 192;
constexpr int ROTARY_DIM = 64;
constexpr bool INTERLEAVED = name_number("interleaved") == name_number("interleaved");
}
TENON_MANIFEST(rope_tail_hd192_rd64_interleaved, HEAD_DIM, ROTARY_DIM, name_number("interleaved"))
extern "C" __global__ void __launch_bounds__(256) rope_tail_hd192_rd64_interleaved(bf16* x, const float* cos, const float* sin, int dim, int rows) {
    rope_tail<HEAD_DIM, ROTARY_DIM, INTERLEAVED>(x, cos, sin, dim, rows);
}
