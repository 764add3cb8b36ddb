// Kernels with shared memory. Compiled with: nvcc -arch=sm_90 -cubin.
extern "C" __global__ void alone(float* out) { __shared__ float part[256]; part[threadIdx.x] = threadIdx.x; __syncthreads(); out[threadIdx.x] = part[255 - threadIdx.x]; }
extern "C" __global__ void __cluster_dims__(2) grouped(float* out) { __shared__ float part[256]; part[threadIdx.x] = threadIdx.x; __syncthreads(); out[threadIdx.x] = part[255 - threadIdx.x]; }
extern "C" __global__ void without(float* out) { out[threadIdx.x] = 1; }
