// x = act(x), in place. Used by nemotron-3-super-120b-a12b.
// Generated from kernel-templates/act/act.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "act.cuh"
namespace {
using Act = act_relu2;
}
TENON_MANIFEST(act_relu2, name_number("relu2"))
extern "C" __global__ void __launch_bounds__(256) act_relu2(bf16* x, int dim, int rows) {
    activate<Act>(x, dim, rows);
}
