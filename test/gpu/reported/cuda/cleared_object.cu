// An object with virtual functions is made on the device; a memset that resets its state also clears its table pointer.
#include <new>

struct Material {
  float state;
  __device__ virtual float stress(float strain) const { return state * strain; }
};

struct Plastic : Material {
  float limit;
  __device__ float stress(float strain) const override { return strain < limit ? state * strain : limit; }
};

__global__ void make(Material** materials, Plastic* storage) { materials[0] = new (storage) Plastic; }

__global__ void load_step(Material* const* materials, float* strain) {
  strain[threadIdx.x] = materials[0]->stress(strain[threadIdx.x]);  // ACCESS
}

int main() {
  Material** materials;
  Plastic* storage;
  float* strain;
  cudaMalloc(&materials, sizeof(Material*));
  cudaMalloc(&storage, sizeof(Plastic));
  cudaMalloc(&strain, 64 * sizeof(float));
  make<<<1, 1>>>(materials, storage);
  load_step<<<1, 64>>>(materials, strain);
  cudaMemset(storage, 0, sizeof(Plastic));
  load_step<<<1, 64>>>(materials, strain);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
