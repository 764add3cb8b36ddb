// A kernel writes results to mapped memory and counts them there. The host reads along and writes nothing.
// No public report.
#include <thread>

#include "../bounded.cuh"

__global__ void produce(int* results, int* count, int most, long long pause) {
  for (int i = 0; i < most; ++i) {
    results[i] = i * i;
    __threadfence_system();
    *static_cast<volatile int*>(count) = i + 1;
    for (long long start = clock64(); clock64() - start < pause;) {
    }
  }
}

int main() {
  const int most = 100;
  int *results = mapped<int>(most), *count = mapped<int>(1);
  *count = 0;
  cudaStream_t stream = new_stream();
  produce<<<1, 1, 0, stream>>>(results, count, most, ticks(0.001));
  long sum = 0;
  for (int seen = 0; seen < most;) {
    const int now = *static_cast<volatile int*>(count);
    for (; seen < now; ++seen) sum += static_cast<volatile int*>(results)[seen];
    if (cudaStreamQuery(stream) != cudaErrorNotReady && *static_cast<volatile int*>(count) == seen) break;
    std::this_thread::yield();
  }
  printf("%ld\n", sum);
  return finished();
}
