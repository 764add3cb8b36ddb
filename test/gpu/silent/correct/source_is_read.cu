// The host only reads the pinned source of a copy that has not begun.
// No public report.
#include "../bounded.cuh"

int main() {
  const int count = 50'000;
  int *source = pinned<int>(count), *device = on_device<int>(count), sum = 0;
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.1));
  cudaMemcpyAsync(device, source, count * sizeof(int), cudaMemcpyHostToDevice, stream);
  for (int i = 0; i < count; ++i) sum += source[i];
  printf("%d\n", sum);
  return finished();
}
