// Another stream clears the unused tail of a buffer, starting one element too early.
// No public report.
#include "../bounded.cuh"

__global__ void pack(short* tokens, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) tokens[i] = static_cast<short>(i);
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int capacity = 8192, used = 5001;
  short* tokens = on_device<short>(capacity);
  cudaStream_t filling = new_stream(), clearing = new_stream();
  const int from = corrected ? used : used - 1;
  pack<<<(used + 255) / 256, 256, 0, filling>>>(tokens, used);                        // FIRST
  cudaMemsetAsync(tokens + from, 0xff, (capacity - from) * sizeof(short), clearing);  // SECOND
  return finished();
}
