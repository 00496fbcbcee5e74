// The experts of each token and their weights. Used by mistral-small-4, mistral-small-4-nvfp4.
// Generated from kernel-templates/route/route.cu.jinja; edit that, then `cargo build`.
#include "manifest.cuh"
#include "route.cuh"
namespace {
constexpr int EXPERTS = 128;
static_assert(EXPERTS >= 1 && EXPERTS <= 1024, "a lane keeps the scores of every 32nd expert in registers");
}
TENON_MANIFEST(route_e128, EXPERTS)
extern "C" __global__ void __launch_bounds__(128) route_e128(
    Step step, const float* router, const float* bias, int* ids, float* weights, int top_k, int scores, int groups, int top_groups,
    int group_score, int normalise, float scaling, int rows) {
    const RouteRule rule = {top_k, scores, groups, top_groups, group_score, normalise, scaling};
    route<EXPERTS>(step, router, bias, ids, weights, rule, rows);
}
