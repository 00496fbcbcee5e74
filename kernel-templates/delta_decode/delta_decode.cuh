// The gated delta rule over spans of one token: S = exp(g) S; S = S + beta (v - S k) k^T; y = S q, with q and k of unit length. A block has
// up to 64 rows of a value head's state.
#pragma once
#include "delta.cuh"
#include "state_rows.cuh"

template <int KEY_DIM, int VALUE_DIM> __device__ __forceinline__ void delta_decode(const Step& step, const Delta& layer) {
    using Rows = StateRows<KEY_DIM>;
    constexpr int EACH = Rows::EACH, TOGETHER = Rows::TOGETHER;
    const int first = blockIdx.x * Rows::ROWS_OF_BLOCK, head = blockIdx.y;
    const int key_head = head / (layer.value_heads / layer.key_heads);
    const long long width = 2 * layer.key_heads * KEY_DIM + layer.value_heads * VALUE_DIM;
    const float decay_rate = layer.decay[head], dt_bias = layer.dt_bias[head];
    wait_for_previous();
    start_next();
    const int sequence = step.decode[blockIdx.z];
    if (sequence < 0) return;
    const int token = step.first[sequence];
    const bool zero = step.start[sequence] == 0;
    int slot = step.slot[sequence];
    bf16* y = layer.y + (static_cast<long long>(token) * layer.value_heads + head) * VALUE_DIM;
    if (slot < 0) {
        const int row = first + threadIdx.x;
        if (threadIdx.x < Rows::ROWS_OF_BLOCK && row < VALUE_DIM) y[row] = from_float<bf16>(0.0f);
        return;
    }
    TENON_ASSERT(layer.decay[head] <= 0.0f && is_own_slot(step, sequence));
    slot = checked(step, slot, step.slots, ERROR_SLOT);
    float* memory = layer.states + (static_cast<long long>(slot) * layer.value_heads + head) * VALUE_DIM * KEY_DIM;
    const bf16* q = layer.qkv + token * width + key_head * KEY_DIM;
    const bf16* k = q + layer.key_heads * KEY_DIM;
    const bf16* v = layer.qkv + token * width + 2 * layer.key_heads * KEY_DIM + head * VALUE_DIM;
    float q_at[EACH][4], k_at[EACH][4];
    Rows::load(q_at, q);
    Rows::load(k_at, k);
    const long long scalar = static_cast<long long>(token) * layer.value_heads + head;
    const float a = layer.a[scalar], b = layer.b[scalar];
    float left = 0.0f, beta = 0.0f;
#pragma unroll
    for (int time = 0; time < Rows::TIMES; time += TOGETHER) {
        float4 state[TOGETHER][EACH];
        float v_at[TOGETHER];
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            const int row = first + (time + i) * Rows::AT_ONCE + Rows::row();
            Rows::load_row(state[i], memory + row * KEY_DIM, row < VALUE_DIM && !zero);
            v_at[i] = row < VALUE_DIM ? to_float(v[row]) : 0.0f;
        }
        // While the state is on its way.
        if (time == 0) {
            left = expf(decay_rate * softplus(a + dt_bias));
            beta = delta_beta(b);
            float q_squares = 0.0f, k_squares = 0.0f;
#pragma unroll
            for (int n = 0; n < EACH; n++)
#pragma unroll
                for (int m = 0; m < 4; m++) {
                    q_squares += q_at[n][m] * q_at[n][m];
                    k_squares += k_at[n][m] * k_at[n][m];
                }
            const float q_scale = 1.0f / (sqrtf(Rows::sum(q_squares) + DELTA_NORM_EPS) * sqrtf(static_cast<float>(KEY_DIM)));
            const float k_scale = 1.0f / sqrtf(Rows::sum(k_squares) + DELTA_NORM_EPS);
#pragma unroll
            for (int n = 0; n < EACH; n++)
#pragma unroll
                for (int m = 0; m < 4; m++) q_at[n][m] *= q_scale, k_at[n][m] *= k_scale;
        }
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            const int row = first + (time + i) * Rows::AT_ONCE + Rows::row();
            float known = 0.0f, out = 0.0f;
#pragma unroll
            for (int n = 0; n < EACH; n++) {
                float4& s = state[i][n];
                s.x *= left, s.y *= left, s.z *= left, s.w *= left;
                known += (k_at[n][0] * s.x + k_at[n][1] * s.y) + (k_at[n][2] * s.z + k_at[n][3] * s.w);
            }
            const float written = beta * (v_at[i] - Rows::sum(known));
#pragma unroll
            for (int n = 0; n < EACH; n++) {
                float4& s = state[i][n];
                s.x += k_at[n][0] * written, s.y += k_at[n][1] * written, s.z += k_at[n][2] * written, s.w += k_at[n][3] * written;
                out += (q_at[n][0] * s.x + q_at[n][1] * s.y) + (q_at[n][2] * s.z + q_at[n][3] * s.w);
            }
            out = Rows::sum(out);
            if (row < VALUE_DIM) {
                Rows::store_row(state[i], memory + row * KEY_DIM);
                if (Rows::lane() == 0) y[row] = from_float<bf16>(out);
            }
        }
    }
}
