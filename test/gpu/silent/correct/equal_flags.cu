// Threads of many blocks write the same constant to one flag, and nobody reads it before the kernel has ended.
// No public report.
#include "../bounded.cuh"

__global__ void relax(const int* from, int* to, int count, int* changed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 >= count) return;
  const int best = min(from[i], from[i + 1] + 1);
  to[i] = best;
  if (best != from[i]) *changed = 1;
}

int main() {
  const int count = 20'000;
  int *from = numbered<int>(count), *to = on_device<int>(count), *changed = on_device<int>(1), again = 1;
  for (int round = 0; round < 4 && again != 0; ++round) {
    cudaMemset(changed, 0, sizeof *changed);
    relax<<<(count + 255) / 256, 256>>>(from, to, count, changed);
    cudaMemcpy(&again, changed, sizeof again, cudaMemcpyDeviceToHost);
    int* old = from;
    from = to, to = old;
  }
  return finished();
}
