// A buffer waits for the event of its last use before it is freed, and the consumer records this event.
#include <unistd.h>

__global__ void total(const float* x, int n, float* sum) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];
  atomicAdd(sum, mine);
}

void CUDART_CB slow_step(void*) { usleep(300000); }

int main() {
  const int n = 16 << 20;
  cudaStream_t producer, consumer;
  for (cudaStream_t* each : {&producer, &consumer}) cudaStreamCreateWithFlags(each, cudaStreamNonBlocking);
  float *points = nullptr, *sum;
  cudaEvent_t used;
  cudaMemPool_t pool;
  cudaMalloc(&sum, sizeof(float));
  cudaMemset(sum, 0, sizeof(float));
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaEventCreateWithFlags(&used, cudaEventDisableTiming);
  for (int frame = 0; frame < 3; frame++) {
    if (cudaMallocAsync(&points, n * sizeof(float), producer) != cudaSuccess) return 77;
    cudaMemsetAsync(points, 0, n * sizeof(float), producer);
    if (cudaStreamSynchronize(producer) != cudaSuccess) return 77;
    cudaLaunchHostFunc(consumer, slow_step, nullptr);
    total<<<256, 256, 0, consumer>>>(points, n, sum);
    cudaEventRecord(used, consumer);
    cudaStreamWaitEvent(producer, used);
    cudaFreeAsync(points, producer);
    if (cudaStreamSynchronize(producer) != cudaSuccess) return 77;
    cudaMemPoolTrimTo(pool, 0);
  }
  return cudaStreamSynchronize(consumer) == cudaSuccess ? 0 : 77;
}
