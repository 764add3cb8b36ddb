// Random states were made for one launch; a later launch has sixteen times as many threads.
#include <curand_kernel.h>

__global__ void seed(curandState* states) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(1234, id, 0, &states[id]);
}

__global__ void diffuse(curandState* states, float* position) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  curandState state = states[id];                 // ACCESS
  position[id] += curand_uniform(&state) - 0.5f;  // ACCESS
  states[id] = state;
}

int main() {
  const int block = 256, seeded = 256, moved = 4096;
  curandState* states;
  float* position;
  cudaMalloc(&states, seeded * block * sizeof(curandState));  // ALLOC
  cudaMalloc(&position, moved * block * sizeof(float));
  cudaMemset(position, 0, moved * block * sizeof(float));
  seed<<<seeded, block>>>(states);
  diffuse<<<moved, block>>>(states, position);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
