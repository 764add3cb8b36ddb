// A 3-D copy loads planes of a volume while a kernel works on the planes before them; the copy begins one plane too
// low.
// Related: https://github.com/JuliaGPU/CUDA.jl/issues/863 (3-D copies and streams)
#include "../bounded.cuh"

__global__ void damp(float* planes, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) planes[i] *= 0.9F;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int width = 64, height = 48, depth = 32, ready = 20, plane = width * height;
  float *volume = on_device<float>(plane * depth), *host = pinned<float>(plane * depth);
  cudaStream_t compute = new_stream(), loading = new_stream();
  const int from = corrected ? ready : ready - 1;
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host, width * sizeof(float), width, height);
  copy.dstPtr = make_cudaPitchedPtr(volume, width * sizeof(float), width, height);
  copy.srcPos = copy.dstPos = make_cudaPos(0, 0, from);
  copy.extent = make_cudaExtent(width * sizeof(float), height, depth - from);
  copy.kind = cudaMemcpyHostToDevice;
  damp<<<plane * ready / 256, 256, 0, compute>>>(volume, plane * ready);  // FIRST
  cudaMemcpy3DAsync(&copy, loading);                                      // SECOND
  return finished();
}
