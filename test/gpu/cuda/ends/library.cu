// A library with a runtime of its own, whose destructor uses CUDA.
__global__ void add(int* p) { atomicAdd(p, 1); }

struct Owner {
  int* owned = nullptr;
  Owner() { cudaMalloc(&owned, 4096); }
  ~Owner() {
    add<<<1, 1>>>(owned);
    cudaDeviceSynchronize();
    cudaFree(owned);
  }
};
static Owner owner;
