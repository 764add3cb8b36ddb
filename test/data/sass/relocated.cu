// A kernel with relocations. Compiled with: nvcc -arch=sm_90 -rdc=true -dc -o relocated.o relocated.cu
//                                        nvcc -arch=sm_90 -dlink -cubin -o relocated.sm90.cubin relocated.o
__device__ unsigned char used[4096];
extern "C" __global__ void mark(size_t at, float* out) { used[at + threadIdx.x] = 1; out[threadIdx.x] = 2; }
