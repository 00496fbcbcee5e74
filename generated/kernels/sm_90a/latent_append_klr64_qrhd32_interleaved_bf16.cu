// Norms latents, rotates their last elements, and writes both to the paged cache. Used by bard-mla.
// Generated from kernel-templates/latent_append/latent_append.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "latent_append.cuh"
namespace {
constexpr int RANK = 64;
constexpr int ROPE = 32;
constexpr bool INTERLEAVED = name_number("interleaved") == name_number("interleaved");
using Cache = bf16;
}
TENON_MANIFEST(latent_append_klr64_qrhd32_interleaved_bf16, RANK, ROPE, name_number("interleaved"), name_number("bf16"))
extern "C" __global__ void __launch_bounds__(128) latent_append_klr64_qrhd32_interleaved_bf16(
    Step step, const bf16* latent, const float* weight, float eps, const float* cos, const float* sin, void* cache, int rows) {
    latent_append<RANK, ROPE, INTERLEAVED, Cache>(step, latent, weight, eps, cos, sin, cache, rows);
}
