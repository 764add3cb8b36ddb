// One staging buffer for two uploads: it is refilled with the values while the copy of the keys still reads it.
// Report: https://github.com/1bit-MONSTER/1bit-MONSTER/pull/2344
#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 1 << 16;
  float *staging = pinned<float>(count), *keys = on_device<float>(count), *values = on_device<float>(count);
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  for (int i = 0; i < count; ++i) staging[i] = 0.5F * i;
  cudaMemcpyAsync(keys, staging, count * sizeof(float), cudaMemcpyHostToDevice, stream);  // FIRST
  if (corrected) cudaStreamSynchronize(stream);
  for (int i = 0; i < count; ++i) staging[i] = -2.0F * i;  // HOST
  cudaMemcpyAsync(values, staging, count * sizeof(float), cudaMemcpyHostToDevice, stream);
  return finished();
}
