// Eight kernels of 1.5 s each are queued at once: the last one waits for more than ten seconds, and all of them end.
// No public report.
#include "../bounded.cuh"

int main() {
  cudaStream_t stream = new_stream();
  const long long most = ticks(1.5);
  for (int step = 0; step < 8; ++step) busy<<<1, 1, 0, stream>>>(most);
  return finished();
}
