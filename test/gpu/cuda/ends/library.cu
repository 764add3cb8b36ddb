// A library with its own CUDA runtime; its destructor uses CUDA.
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
