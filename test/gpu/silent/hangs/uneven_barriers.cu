// Each block passes a grid-wide barrier once per step; one block has fewer steps than the others.
// Report: https://github.com/punica-ai/punica/pull/35 (the barrier is written out here, so that it gives up after 8 s)
#include "../bounded.cuh"

__global__ void shrink(const int* steps, int* arrived, long long most) {
  for (int step = 0; step < steps[blockIdx.x]; ++step) {
    if (threadIdx.x == 0) {
      atomicAdd(&arrived[step], 1);
      if (!appears(&arrived[step], gridDim.x, most)) return;  // SPINS
    }
    __syncthreads();  // SPINS
  }
}

int main() {
  const int even[4] = {3, 3, 3, 3}, uneven[4] = {3, 3, 2, 3};
  int *steps = on_device<int>(4), *arrived = on_device<int>(8);
  cudaStream_t stream = new_stream();
  cudaMemcpyAsync(steps, even, sizeof even, cudaMemcpyHostToDevice, stream);
  shrink<<<4, 32, 0, stream>>>(steps, arrived, ticks(8));
  cudaStreamSynchronize(stream);
  cudaMemcpyAsync(steps, uneven, sizeof uneven, cudaMemcpyHostToDevice, stream);
  shrink<<<4, 32, 0, stream>>>(steps, arrived + 4, ticks(8));  // STUCK
  cudaStreamSynchronize(stream);                               // WAITS
  return finished();
}
