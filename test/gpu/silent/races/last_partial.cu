// Each of four streams computes a partial sum; the merging stream waits for only three of them.
// Related: https://github.com/ggml-org/llama.cpp/pull/18496 (joining concurrent streams)
#include "../bounded.cuh"

__global__ void sum_part(const int* values, int count, int* partial) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];
  *partial = sum;
}

__global__ void sum_all(const int* partials, int count, int* total) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += partials[i];
  *total = sum;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int part = 2000;
  int *values = on_device<int>(4 * part), *partials = on_device<int>(4), *total = on_device<int>(1);
  cudaStream_t merging = new_stream();
  for (int k = 0; k < 4; ++k) {
    cudaStream_t stream = new_stream();
    sum_part<<<1, 1, 0, stream>>>(values + k * part, part, partials + k);  // FIRST
    cudaEvent_t done = new_event();
    cudaEventRecord(done, stream);
    if (corrected || k < 3) cudaStreamWaitEvent(merging, done);
  }
  sum_all<<<1, 1, 0, merging>>>(partials, 4, total);  // SECOND
  return finished();
}
