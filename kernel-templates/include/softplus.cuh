// ln(1 + e^x), the time step of recurrences.
#pragma once

// Without overflow; a NaN stays one.
__device__ __forceinline__ float softplus(float x) { return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))); }
