// The recurrence of Mamba2 over spans of one token: s = exp(d A) s + B d x, y = C s + D x. A block has up to 64 rows of a head's state.
#pragma once
#include "mamba2.cuh"
#include "state_rows.cuh"

template <int HEAD_DIM, int STATE> __device__ __forceinline__ void mamba2_update(const Step& step, const Mamba2& layer) {
    using Rows = StateRows<STATE>;
    constexpr int EACH = Rows::EACH, TOGETHER = Rows::TOGETHER;
    const int first = blockIdx.x * Rows::ROWS_OF_BLOCK, head = blockIdx.y;
    const int group = head / (layer.heads / layer.groups);
    const long long width = layer.heads * HEAD_DIM + 2 * layer.groups * STATE;
    const float rate = decay_rate(step, layer, head), dt_bias = layer.dt_bias[head], direct = layer.d[head];
    wait_for_previous();
    start_next();
    const int sequence = step.decode[blockIdx.z];
    if (sequence < 0) return;
    const int token = step.first[sequence];
    const bool zero = step.start[sequence] == 0;
    int slot = step.slot[sequence];
    bf16* y = layer.y + (static_cast<long long>(token) * layer.heads + head) * HEAD_DIM;
    if (slot < 0) {
        const int row = first + threadIdx.x;
        if (threadIdx.x < Rows::ROWS_OF_BLOCK && row < HEAD_DIM) y[row] = from_float<bf16>(0.0f);
        return;
    }
    TENON_ASSERT(layer.decay[head] < 0.0f && is_own_slot(step, sequence));
    slot = checked(step, slot, step.slots, ERROR_SLOT);
    float* memory = layer.states + (static_cast<long long>(slot) * layer.heads + head) * HEAD_DIM * STATE;
    const bf16* x = layer.xbc + token * width;
    const bf16* b = x + layer.heads * HEAD_DIM + group * STATE;
    x += head * HEAD_DIM;
    float b_at[EACH][4], c_at[EACH][4];
    Rows::load(b_at, b);
    Rows::load(c_at, b + layer.groups * STATE);
    const float dt = layer.dt[static_cast<long long>(token) * layer.heads + head];
    float left = 0.0f, written = 0.0f;
#pragma unroll
    for (int time = 0; time < Rows::TIMES; time += TOGETHER) {
        float4 state[TOGETHER][EACH];
        float x_at[TOGETHER];
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            const int row = first + (time + i) * Rows::AT_ONCE + Rows::row();
            Rows::load_row(state[i], memory + row * STATE, row < HEAD_DIM && !zero);
            x_at[i] = row < HEAD_DIM ? to_float(x[row]) : 0.0f;
        }
        if (time == 0) {
            written = time_step(dt + dt_bias, layer.time_step_min);
            left = expf(written * rate);
        }
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            const int row = first + (time + i) * Rows::AT_ONCE + Rows::row();
            const float input = written * x_at[i];
            float sum = 0.0f;
#pragma unroll
            for (int v = 0; v < EACH; v++) {
                float4& s = state[i][v];
                s.x = left * s.x + b_at[v][0] * input;
                s.y = left * s.y + b_at[v][1] * input;
                s.z = left * s.z + b_at[v][2] * input;
                s.w = left * s.w + b_at[v][3] * input;
                sum += (c_at[v][0] * s.x + c_at[v][1] * s.y) + (c_at[v][2] * s.z + c_at[v][3] * s.w);
            }
            sum = Rows::sum(sum);
            if (row < HEAD_DIM) {
                Rows::store_row(state[i], memory + row * STATE);
                if (Rows::lane() == 0) y[row] = from_float<bf16>(sum + direct * x_at[i]);
            }
        }
    }
}
