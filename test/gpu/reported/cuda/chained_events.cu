// A buffer has an event for each stream that uses it, and memory is freed after all of them.
#include <unistd.h>

__global__ void total(const float* x, int n, float* sum) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];
  atomicAdd(sum, mine);
}

void CUDART_CB slow_step(void*) { usleep(300000); }

int main() {
  const int n = 16 << 20;
  cudaStream_t owner, users[2];
  cudaEvent_t used[2];
  cudaMemPool_t pool;
  float *sum, *data;
  cudaStreamCreateWithFlags(&owner, cudaStreamNonBlocking);
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaMalloc(&sum, sizeof(float));
  if (cudaMallocAsync(&data, n * sizeof(float), owner) != cudaSuccess) return 1;
  cudaStreamSynchronize(owner);
  for (int i = 0; i < 2; i++) {
    cudaStreamCreateWithFlags(&users[i], cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&used[i], cudaEventDisableTiming);
    if (i == 0) cudaLaunchHostFunc(users[i], slow_step, nullptr);
    total<<<256, 256, 0, users[i]>>>(data, n, sum);
    cudaEventRecord(used[i], users[i]);
    cudaStreamWaitEvent(owner, used[i]);
  }
  cudaFreeAsync(data, owner);
  if (cudaStreamSynchronize(owner) != cudaSuccess) return 1;
  cudaMemPoolTrimTo(pool, 0);
  return cudaDeviceSynchronize() != cudaSuccess;
}
