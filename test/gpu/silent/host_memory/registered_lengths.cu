// A vector is registered and read by kernels without a copy. It is filled for the next step too early.
// Related: https://github.com/vllm-project/vllm/pull/24527
#include <vector>

#include "../bounded.cuh"

__global__ void mask(const long* lengths, float* scores, int columns) {
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    if (i >= lengths[blockIdx.x]) scores[blockIdx.x * columns + i] = -1e9f;  // READS
  }
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int rows = 2048, columns = 300;
  std::vector<long> lengths(rows, 100);
  cudaHostRegister(lengths.data(), rows * sizeof(long), cudaHostRegisterMapped);
  long* seen;
  cudaHostGetDevicePointer(&seen, lengths.data(), 0);
  float* scores = on_device<float>(rows * columns);
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  mask<<<rows, 128, 0, stream>>>(seen, scores, columns);  // LAUNCH
  if (corrected) cudaStreamSynchronize(stream);
  for (int i = 0; i < rows; ++i) lengths[i] = 101 + i % 7;  // HOST
  const int status = finished();
  cudaHostUnregister(lengths.data());
  return status;
}
