// A buffer keeps one event for its uses. A use in a second stream moves the event, and the first use is forgotten.
#include <unistd.h>

__global__ void total(const float* x, int n, float* sum) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];  // ACCESS
  atomicAdd(sum, mine);
}

void CUDART_CB slow_step(void*) { usleep(800000); }

struct Buffer {
  float* data = nullptr;
  cudaEvent_t used;

  Buffer(size_t bytes, cudaStream_t stream) {
    cudaMallocAsync(&data, bytes, stream);  // ALLOC
    cudaEventCreateWithFlags(&used, cudaEventDisableTiming);
  }
  void record_use(cudaStream_t stream) { cudaEventRecord(used, stream); }
  void release(cudaStream_t stream) {
    cudaStreamWaitEvent(stream, used);
    cudaFreeAsync(data, stream);  // FREED
  }
};

int main() {
  const int n = 16 << 20;
  cudaStream_t owner, first, second;
  for (cudaStream_t* each : {&owner, &first, &second}) cudaStreamCreateWithFlags(each, cudaStreamNonBlocking);
  float* sum;
  cudaMemPool_t pool;
  cudaMalloc(&sum, sizeof(float));
  cudaDeviceGetDefaultMemPool(&pool, 0);
  Buffer buffer(n * sizeof(float), owner);
  if (!buffer.data) return 77;
  total<<<256, 256, 0, owner>>>(buffer.data, n, sum);
  if (cudaStreamSynchronize(owner) != cudaSuccess) return 77;
  cudaLaunchHostFunc(first, slow_step, nullptr);
  total<<<256, 256, 0, first>>>(buffer.data, n, sum);  // LAUNCH
  buffer.record_use(first);
  total<<<256, 256, 0, second>>>(buffer.data, n, sum);
  buffer.record_use(second);
  buffer.release(owner);
  if (cudaStreamSynchronize(owner) != cudaSuccess) return 77;
  cudaMemPoolTrimTo(pool, 0);
  return cudaStreamSynchronize(first) != cudaSuccess;
}
