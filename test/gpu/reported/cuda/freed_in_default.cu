// The destructor of a buffer frees it in the default stream, which does not wait for streams that do not block.
#include <unistd.h>

__global__ void total(const float* x, int n, float* sum) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];  // ACCESS
  atomicAdd(sum, mine);
}

void CUDART_CB slow_step(void*) { usleep(800000); }

struct Buffer {
  float* data = nullptr;

  Buffer(size_t bytes, cudaStream_t stream) { cudaMallocAsync(&data, bytes, stream); }  // ALLOC
  ~Buffer() { cudaFreeAsync(data, nullptr); }                                           // FREED
};

void submit(int n, float* sum, cudaStream_t stream, bool slow) {
  Buffer buffer(n * sizeof(float), stream);
  if (!buffer.data) exit(77);
  cudaMemsetAsync(buffer.data, 0, n * sizeof(float), stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) exit(77);
  if (slow) cudaLaunchHostFunc(stream, slow_step, nullptr);
  total<<<256, 256, 0, stream>>>(buffer.data, n, sum);  // LAUNCH
  if (!slow && cudaStreamSynchronize(stream) != cudaSuccess) exit(77);
}

int main() {
  const int n = 16 << 20;
  float* sum;
  cudaStream_t stream;
  cudaMemPool_t pool;
  cudaMalloc(&sum, sizeof(float));
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  submit(n, sum, stream, false);
  cudaStreamSynchronize(nullptr);
  submit(n, sum, stream, true);
  cudaStreamSynchronize(nullptr);
  cudaMemPoolTrimTo(pool, 0);
  return cudaStreamSynchronize(stream) != cudaSuccess;
}
