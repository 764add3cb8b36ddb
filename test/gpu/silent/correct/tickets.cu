// Threads that keep their element take a ticket each, by an atomic addition, and write to the place of their ticket.
// No public report.
#include "../bounded.cuh"

__global__ void compact(const int* in, int count, int* out, unsigned* kept) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count || in[i] % 3 != 0) return;
  const unsigned ticket = atomicAdd(kept, 1);
  out[ticket] = in[i];
}

int main() {
  const int count = 30'000;
  int *in = numbered<int>(count), *out = on_device<int>(count);
  unsigned* kept = on_device<unsigned>(1);
  compact<<<(count + 255) / 256, 256>>>(in, count, out, kept);
  return finished();
}
