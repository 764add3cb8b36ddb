// One graph computes rows, another one uses them. After a new request clears the rows, only the second is replayed.
__global__ void compute_rows(int* rows, int n, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) rows[i] = i * 37 % limit;
}

__global__ void gather(const float* table, const int* rows, float* out) {
  out[blockIdx.x * 64 + threadIdx.x] = table[size_t(rows[blockIdx.x]) * 64 + threadIdx.x];  // ACCESS
}

cudaGraphExec_t finish(cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t exec = nullptr;
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  return exec;
}

int main() {
  const int n = 1024, limit = 1 << 16;
  float *table, *out;
  int* rows;
  cudaStream_t stream;
  cudaMalloc(&out, n * 64 * sizeof(float));
  cudaMalloc(&rows, n * sizeof(int));
  cudaMalloc(&table, size_t(limit) * 64 * sizeof(float));  // ALLOC
  cudaMemset(table, 0, size_t(limit) * 64 * sizeof(float));
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  compute_rows<<<n / 256, 256, 0, stream>>>(rows, n, limit);
  cudaGraphExec_t prepare = finish(stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  gather<<<n, 64, 0, stream>>>(table, rows, out);  // LAUNCH
  cudaGraphExec_t decode = finish(stream);
  cudaGraphLaunch(prepare, stream);
  cudaGraphLaunch(decode, stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 77;
  cudaMemsetAsync(rows, 0x07, n * sizeof(int), stream);
  cudaGraphLaunch(decode, stream);  // LAUNCH
  return cudaStreamSynchronize(stream) != cudaSuccess;
}
