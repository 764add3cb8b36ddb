// Memory is freed on one stream by cudaFreeAsync, and used on another stream after a wait for the first one.
__global__ void square(float* x) { x[threadIdx.x] *= x[threadIdx.x]; }  // ACCESS

int main() {
  cudaStream_t producer, consumer;
  cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking);
  float* x;
  cudaMallocAsync(&x, 128 << 20, producer);  // ALLOC
  square<<<1, 64, 0, producer>>>(x);
  cudaFreeAsync(x, producer);  // FREED
  cudaStreamSynchronize(producer);
  cudaMemPool_t pool;
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaMemPoolTrimTo(pool, 0);
  square<<<1, 64, 0, consumer>>>(x);  // LAUNCH
  return cudaStreamSynchronize(consumer) != cudaSuccess;
}
