// A graph cannot be updated because it has more kernels now; the program makes a new one. The program succeeds.
__global__ void add_one(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

cudaGraph_t capture(cudaStream_t stream, float* x, int kernels) {
  cudaGraph_t graph;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int i = 0; i < kernels; i++) add_one<<<256, 256, 0, stream>>>(x);
  cudaStreamEndCapture(stream, &graph);
  return graph;
}

int main() {
  float *x, first = 0;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&x, 65536 * sizeof(float));
  cudaMemset(x, 0, 65536 * sizeof(float));
  cudaGraphExec_t exec = nullptr;
  for (int kernels = 1; kernels <= 4; kernels++) {
    cudaGraph_t graph = capture(stream, x, kernels);
    cudaGraphExecUpdateResultInfo info;
    if (exec && cudaGraphExecUpdate(exec, graph, &info) != cudaSuccess) {
      cudaGetLastError();
      cudaGraphExecDestroy(exec);
      exec = nullptr;
    }
    if (!exec && cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) return 1;
    cudaGraphLaunch(exec, stream);
    if (cudaStreamSynchronize(stream) != cudaSuccess) return 1;
    cudaGraphDestroy(graph);
  }
  cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost);
  return first != 10;
}
