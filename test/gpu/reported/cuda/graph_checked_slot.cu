// A captured kernel asserts that its slot is free. The second replay finds slots of the first one.
#include <cassert>

__global__ void choose(int* slots, const int* next, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) slots[i] = (*next + i) % n;
}

__global__ void occupy(int* owners, const int* slots, int request, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int before = atomicCAS(owners + slots[i], -1, request);
  assert(before == -1 && "the slot is in use");
}

int main() {
  const int n = 4096;
  int *owners, *slots, *next;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaMalloc(&owners, n * sizeof(int));
  cudaMalloc(&slots, n * sizeof(int));
  cudaMalloc(&next, sizeof(int));
  cudaMemset(owners, -1, n * sizeof(int));
  cudaMemset(next, 0, sizeof(int));
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  choose<<<n / 256, 256, 0, stream>>>(slots, next, n);
  occupy<<<n / 256, 256, 0, stream>>>(owners, slots, 7, n);  // LAUNCH
  cudaStreamEndCapture(stream, &graph);
  if (cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) return 77;
  cudaGraphLaunch(exec, stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 77;
  cudaGraphLaunch(exec, stream);  // LAUNCH
  return cudaStreamSynchronize(stream) != cudaSuccess;
}
