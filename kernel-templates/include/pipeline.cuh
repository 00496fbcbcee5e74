// Pipelines between warpgroups: barriers in shared memory that count arrivals, turns at the tensor cores, and registers that those who
// copy leave to those who compute.
#pragma once
#include "mma.cuh"

// A barrier's phase is over after as many arrivals as it was made for. Whoever waits names the parity of the phase: the first one is 0,
// and the phase before the first one counts as over.
using Barrier = unsigned long long;

// By one thread, before the block's first __syncthreads.
__device__ __forceinline__ void make_barrier(Barrier* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void arrive(Barrier* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
// Arrives once everything that this thread has copied by cp.async is there.
__device__ __forceinline__ void arrive_with_copies(Barrier* barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void wait_phase(Barrier* barrier, unsigned parity) {
    const unsigned address = shared_address(barrier);
    unsigned over;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "r"(address), "r"(parity)
                     : "memory");
    } while (!over);
}

// Barrier ID of the block, from 1 on: `threads` of it meet, of whom some only say that they were there.
__device__ __forceinline__ void meet_at(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
__device__ __forceinline__ void pass_by(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

// Registers of each thread of this warpgroup from here on. All its warps execute it.
template <int COUNT> __device__ __forceinline__ void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT)); }
template <int COUNT> __device__ __forceinline__ void leave_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT)); }
