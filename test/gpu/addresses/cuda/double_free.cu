// A pointer is freed twice. In between, another buffer got its address, so the second free releases that buffer.
#include "needs.cuh"

__global__ void blend(const float* old_frame, float* frame) {
  frame[threadIdx.x] = (old_frame[threadIdx.x] + frame[threadIdx.x]) / 2;  // ACCESS
}

int main() {
  float *first, *second, *frame;
  cudaMalloc(&frame, 4096);
  cudaMalloc(&first, 128 << 20);
  blend<<<1, 64>>>(first, frame);
  cudaDeviceSynchronize();
  cudaFree(first);
  cudaMalloc(&second, 128 << 20);  // ALLOC
  needs_same_address(first, second);
  blend<<<1, 64>>>(second, frame);
  cudaDeviceSynchronize();
  cudaFree(first);                  // FREED
  blend<<<1, 64>>>(second, frame);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
