// A cache on the device evicts its oldest block, although a queued kernel in another stream will still read it.
#include <unistd.h>

#include <deque>

__global__ void total(const float* x, int n, float* sum) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];  // ACCESS
  atomicAdd(sum, mine);
}

void CUDART_CB slow_step(void*) { usleep(800000); }

class Cache {
 public:
  static constexpr int block = 16 << 20;
  static constexpr size_t most = 2;

  Cache() { cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); }
  float* fetch() {
    float* data = nullptr;
    cudaMallocAsync(&data, block * sizeof(float), stream);  // ALLOC
    cudaMemsetAsync(data, 0, block * sizeof(float), stream);
    blocks.push_back(data);
    if (blocks.size() > most) evict();
    return cudaStreamSynchronize(stream) == cudaSuccess ? data : nullptr;
  }

 private:
  void evict() {
    cudaMemPool_t pool;
    cudaFreeAsync(blocks.front(), stream);  // FREED
    blocks.pop_front();
    cudaStreamSynchronize(stream);
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaMemPoolTrimTo(pool, 0);
  }
  cudaStream_t stream;
  std::deque<float*> blocks;
};

int main() {
  cudaStream_t compute;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  float* sum;
  cudaMalloc(&sum, sizeof(float));
  Cache cache;
  const float* first = cache.fetch();
  if (!first) return 77;
  total<<<256, 256, 0, compute>>>(first, Cache::block, sum);
  if (cudaStreamSynchronize(compute) != cudaSuccess) return 77;
  cudaLaunchHostFunc(compute, slow_step, nullptr);
  total<<<256, 256, 0, compute>>>(first, Cache::block, sum);  // LAUNCH
  for (int i = 0; i < 2; i++)
    if (!cache.fetch()) return 77;
  return cudaStreamSynchronize(compute) != cudaSuccess;
}
