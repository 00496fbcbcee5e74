// x *= factor. Used by gemma-3-270m.
// Generated from kernel-templates/scale/scale.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "scale.cuh"
extern "C" __global__ void __launch_bounds__(256) scale(float* x, float factor, int dim, int rows) {
    scale_rows(x, factor, dim, rows);
}
