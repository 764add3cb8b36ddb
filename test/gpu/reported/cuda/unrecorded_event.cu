// A buffer waits for its event before it is freed, but the consumer never records this event.
#include <unistd.h>

__global__ void total(const float* x, int n, float* sum) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];  // ACCESS
  atomicAdd(sum, mine);
}

void CUDART_CB slow_step(void*) { usleep(800000); }

class PointCloud {
 public:
  PointCloud(int n, cudaStream_t stream) : n(n) {
    cudaMallocAsync(&points, n * sizeof(float), stream);  // ALLOC
    cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  }
  void release(cudaStream_t stream) {
    cudaStreamWaitEvent(stream, ready);
    cudaFreeAsync(points, stream);  // FREED
  }
  float* points = nullptr;
  int n;
  cudaEvent_t ready;
};

int main() {
  cudaStream_t producer, consumer;
  for (cudaStream_t* each : {&producer, &consumer}) cudaStreamCreateWithFlags(each, cudaStreamNonBlocking);
  float* sum;
  cudaMemPool_t pool;
  cudaMalloc(&sum, sizeof(float));
  cudaDeviceGetDefaultMemPool(&pool, 0);
  PointCloud cloud(16 << 20, producer);
  if (!cloud.points) return 77;
  total<<<256, 256, 0, producer>>>(cloud.points, cloud.n, sum);
  if (cudaStreamSynchronize(producer) != cudaSuccess) return 77;
  cudaLaunchHostFunc(consumer, slow_step, nullptr);
  total<<<256, 256, 0, consumer>>>(cloud.points, cloud.n, sum);  // LAUNCH
  cloud.release(producer);
  if (cudaStreamSynchronize(producer) != cudaSuccess) return 77;
  cudaMemPoolTrimTo(pool, 0);
  return cudaStreamSynchronize(consumer) != cudaSuccess;
}
