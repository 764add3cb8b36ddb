// A grid-wide barrier with one block more than the GPU can run at a time: the last one never starts.
// Report: https://github.com/NVIDIA/cuml/issues/458 and https://github.com/alpaka-group/alpaka/pull/2307
#include "../bounded.cuh"

__global__ void barrier(int* arrived, int expected, long long most) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    appears(arrived, expected, most);  // SPINS
  }
  __syncthreads();  // SPINS
}

int main() {
  int processors = 0, at_a_time = 0;
  const int threads = 1024, shared = 48 * 1024;
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_a_time, barrier, threads, shared);
  const int blocks = processors * at_a_time + 1;
  int* arrived = on_device<int>(2);
  cudaStream_t stream = new_stream();
  barrier<<<processors, threads, shared, stream>>>(arrived + 1, processors, ticks(8));
  cudaStreamSynchronize(stream);
  barrier<<<blocks, threads, shared, stream>>>(arrived, blocks, ticks(6));  // STUCK
  cudaStreamSynchronize(stream);                                            // WAITS
  return finished();
}
