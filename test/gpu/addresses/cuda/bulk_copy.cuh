// A bulk copy by the block's first thread, and the wait for it.
#pragma once
#include <cuda/barrier>
#include <utility>

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__device__ inline void load_tile(float* tile, const float* from, unsigned bytes, Barrier& full) {
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(tile, from, cuda::aligned_size_t<16>(bytes), full);  // ACCESS
    full.wait(cuda::device::barrier_arrive_tx(full, 1, bytes));
  } else {
    full.arrive_and_wait();
  }
}
