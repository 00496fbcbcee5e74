// Thread block clusters: blocks that meet at a barrier and read each other's shared memory.
#pragma once

__device__ __forceinline__ int block_of_cluster() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return static_cast<int>(rank);
}

// Every thread of the cluster waits here; what any wrote to shared memory before is seen by all after. Without one, a block must not
// touch the memory of another, which may not have started, and must not end while another may still read its own.
__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

// The same place in the shared memory of another block of the cluster.
template <class T> __device__ __forceinline__ T* in_block(T* here, int block) {
    T* there;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(here), "r"(block));
    return there;
}
