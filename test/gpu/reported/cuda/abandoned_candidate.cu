// A tuner gives up on a slow candidate after a while and frees its workspace, but the candidate still runs later.
#include <unistd.h>

__global__ void candidate(float* workspace, int n, int passes) {
  for (int pass = 0; pass < passes; pass++)
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      workspace[i] = workspace[i] * 0.5f + 1.0f;  // ACCESS
}

void CUDART_CB load_module(void* delay) { usleep(*static_cast<int*>(delay)); }

class Tuner {
 public:
  Tuner() {
    for (cudaStream_t* each : {&memory, &timed}) cudaStreamCreateWithFlags(each, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    cudaDeviceGetDefaultMemPool(&pool, 0);
  }
  bool try_candidate(int* delay) {
    const int n = 16 << 20;
    float* workspace = nullptr;
    cudaMallocAsync(&workspace, n * sizeof(float), memory);  // ALLOC
    cudaMemsetAsync(workspace, 0, n * sizeof(float), memory);
    if (cudaStreamSynchronize(memory) != cudaSuccess) return false;
    cudaLaunchHostFunc(timed, load_module, delay);
    candidate<<<256, 256, 0, timed>>>(workspace, n, 2);  // LAUNCH
    cudaEventRecord(done, timed);
    for (int waited = 0; waited < 100 && cudaEventQuery(done) == cudaErrorNotReady; waited++) usleep(1000);
    cudaFreeAsync(workspace, memory);  // FREED
    if (cudaStreamSynchronize(memory) != cudaSuccess) return false;
    return cudaMemPoolTrimTo(pool, 0) == cudaSuccess;
  }
  bool finish() { return cudaStreamSynchronize(timed) == cudaSuccess; }

 private:
  cudaStream_t memory, timed;
  cudaEvent_t done;
  cudaMemPool_t pool;
};

int main() {
  int fast = 1000, slow = 800000;
  Tuner tuner;
  if (!tuner.try_candidate(&fast) || !tuner.finish()) return 77;
  if (!tuner.try_candidate(&slow)) return 77;
  return tuner.finish() ? 0 : 1;
}
