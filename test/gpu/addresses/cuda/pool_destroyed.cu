// A request's memory pool is destroyed with the request, but the cache keeps a pointer into it.
__global__ void decay(float* cache, float by) { cache[threadIdx.x] *= by; }  // ACCESS

int main() {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t pool;
  cudaMemPoolCreate(&pool, &properties);
  cudaStream_t s;
  cudaStreamCreate(&s);
  float* cache;
  cudaMallocFromPoolAsync(&cache, 128 << 20, pool, s);  // ALLOC
  decay<<<1, 64, 0, s>>>(cache, 1);
  cudaFreeAsync(cache, s);  // FREED
  cudaStreamSynchronize(s);
  cudaMemPoolDestroy(pool);
  decay<<<1, 64, 0, s>>>(cache, 0.5f);  // LAUNCH
  return cudaStreamSynchronize(s) != cudaSuccess;
}
