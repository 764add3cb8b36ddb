// A step fails and throws. The scratch memory is freed on the way out, but its kernel is still queued.
#include <unistd.h>

#include <stdexcept>

__global__ void total(const float* x, int n, float* sum) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];  // ACCESS
  atomicAdd(sum, mine);
}

void CUDART_CB slow_step(void*) { usleep(800000); }

struct Scratch {
  float* data = nullptr;
  cudaStream_t stream;

  Scratch(size_t bytes, cudaStream_t stream) : stream(stream) { cudaMallocAsync(&data, bytes, stream); }  // ALLOC
  ~Scratch() { cudaFreeAsync(data, stream); }                                                             // FREED
};

void query(int n, float* sum, cudaStream_t owner, cudaStream_t work, bool fails) {
  Scratch scratch(n * sizeof(float), owner);
  if (!scratch.data) throw std::bad_alloc();
  if (cudaStreamSynchronize(owner) != cudaSuccess) throw std::bad_alloc();
  if (fails) cudaLaunchHostFunc(work, slow_step, nullptr);
  total<<<256, 256, 0, work>>>(scratch.data, n, sum);  // LAUNCH
  if (fails) throw std::runtime_error("a column is missing");
  cudaStreamSynchronize(work);
}

int main() {
  const int n = 16 << 20;
  float* sum;
  cudaStream_t owner, work;
  cudaMemPool_t pool;
  cudaMalloc(&sum, sizeof(float));
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaStreamCreateWithFlags(&owner, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
  try {
    query(n, sum, owner, work, false);
    query(n, sum, owner, work, true);
  } catch (const std::bad_alloc&) {
    return 77;
  } catch (const std::runtime_error&) {
    cudaStreamSynchronize(owner);
    cudaMemPoolTrimTo(pool, 0);
  }
  return cudaStreamSynchronize(work) != cudaSuccess;
}
