// A 3-D batch copy reads a brick of a volume that a kernel on another stream changes; the corrected twin orders them.
// Related: https://github.com/NVIDIA/cudf/pull/20800 (batch copies in place of plain ones)
#include "../bounded.cuh"

__global__ void step(float* volume, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) volume[i] += 1;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const size_t width = 32, height = 32, depth = 16, count = width * height * depth;
  float *volume = on_device<float>(count), *saved = on_device<float>(count);
  cudaStream_t compute = new_stream(), saving = new_stream();
  cudaEvent_t stepped = new_event();
  cudaMemcpy3DBatchOp operation{};
  operation.src.type = operation.dst.type = cudaMemcpyOperandTypePointer;
  operation.src.op.ptr = {volume, width * sizeof(float), height, {}};
  operation.dst.op.ptr = {saved, width * sizeof(float), height, {}};
  operation.extent = make_cudaExtent(width * sizeof(float), height, depth);
  operation.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  step<<<count / 256, 256, 0, compute>>>(volume, static_cast<int>(count));  // FIRST
  cudaEventRecord(stepped, compute);
  if (corrected) cudaStreamWaitEvent(saving, stepped);
  if (cudaMemcpy3DBatchAsync(1, &operation, 0, saving) != cudaSuccess) return 77;  // SECOND
  return finished();
}
