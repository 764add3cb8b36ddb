// A captured kernel reads the number of rows from device memory; the next step has more rows than the captured buffer.
__global__ void scale(float* x, const int* rows, int width) {
  for (int row = blockIdx.x; row < *rows; row += gridDim.x)
    for (int i = threadIdx.x; i < width; i += blockDim.x) x[size_t(row) * width + i] *= 0.5f;  // ACCESS
}

int main() {
  const int captured = 16384, width = 4096;
  float* x;
  int *rows, count = captured;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&rows, sizeof(int));
  cudaMalloc(&x, size_t(captured) * width * sizeof(float));  // ALLOC
  cudaMemsetAsync(x, 0, size_t(captured) * width * sizeof(float), stream);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  scale<<<512, 256, 0, stream>>>(x, rows, width);  // LAUNCH
  cudaStreamEndCapture(stream, &graph);
  if (cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) return 77;
  for (int step = 0; step < 2; step++) {
    cudaMemcpy(rows, &count, sizeof count, cudaMemcpyHostToDevice);
    cudaGraphLaunch(exec, stream);  // LAUNCH
    if (cudaStreamSynchronize(stream) != cudaSuccess) return 1;
    count *= 8;
  }
  return 0;
}
