// A graph marks its input as used. It is replayed in one stream while another stream still brings the next input.
#include <unistd.h>

__global__ void gather(const float* table, const int* rows, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = table[rows[i]];  // ACCESS
}

void CUDART_CB prepare_batch(void*) { usleep(500000); }

int main() {
  const int n = 1 << 16, used = 0x3f;
  float *table, *out;
  int *rows, *next;
  cudaMalloc(&rows, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(float));
  cudaMalloc(&table, 16 << 20);  // ALLOC
  cudaMemset(table, 0, 16 << 20);
  cudaMallocHost(&next, n * sizeof(int));
  for (int i = 0; i < n; i++) next[i] = i;
  cudaStream_t copies, compute;
  cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaGraph_t graph;
  cudaGraphExec_t replayable;
  cudaStreamBeginCapture(compute, cudaStreamCaptureModeRelaxed);
  gather<<<n / 256, 256, 0, compute>>>(table, rows, out);  // LAUNCH
  cudaMemsetAsync(rows, used, n * sizeof(int), compute);
  if (cudaStreamEndCapture(compute, &graph) != cudaSuccess) return 77;
  if (cudaGraphInstantiate(&replayable, graph, 0) != cudaSuccess) return 77;
  cudaMemcpyAsync(rows, next, n * sizeof(int), cudaMemcpyHostToDevice, copies);
  if (cudaStreamSynchronize(copies) != cudaSuccess) return 77;
  cudaGraphLaunch(replayable, compute);
  if (cudaStreamSynchronize(compute) != cudaSuccess) return 77;
  cudaLaunchHostFunc(copies, prepare_batch, nullptr);
  cudaMemcpyAsync(rows, next, n * sizeof(int), cudaMemcpyHostToDevice, copies);
  cudaGraphLaunch(replayable, compute);  // LAUNCH
  return cudaStreamSynchronize(compute) != cudaSuccess;
}
