// A host function in the stream prepares the mapped table for the next kernel; the stream is the order.
// Pattern: https://github.com/LuisaGroup/LuisaCompute/pull/248
#include "../bounded.cuh"

__global__ void accumulate(const int* table, int* sums) { sums[threadIdx.x] += table[threadIdx.x]; }

static void prepare(void* data) {
  int* table = static_cast<int*>(data);
  for (int i = 0; i < 256; ++i) table[i] += i;
}

int main() {
  int *table = mapped<int>(256), *sums = on_device<int>(256);
  cudaStream_t stream = new_stream();
  for (int step = 0; step < 5; ++step) {
    cudaLaunchHostFunc(stream, prepare, table);
    busy<<<1, 1, 0, stream>>>(ticks(0.005));
    accumulate<<<1, 256, 0, stream>>>(table, sums);
  }
  return finished();
}
