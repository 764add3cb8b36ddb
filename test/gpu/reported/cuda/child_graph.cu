// A graph contains a captured graph of another module, whose gather reads an id that is too large.
__global__ void gather(const float* table, const long long* ids, float* out, int width) {
  out[blockIdx.x * width + threadIdx.x] = table[ids[blockIdx.x] * width + threadIdx.x];  // ACCESS
}

__global__ void normalise(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 0.125f; }

int main() {
  const int rows = 16384, width = 1024, batch = 8;
  long long host[batch] = {4, 8, 15, 16, 23, 42'000'000, 1, 2}, *ids;
  float *table, *out;
  cudaMalloc(&table, rows * width * sizeof(float));  // ALLOC
  cudaMalloc(&out, batch * width * sizeof(float));
  cudaMalloc(&ids, sizeof host);
  cudaMemcpy(ids, host, sizeof host, cudaMemcpyHostToDevice);
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaGraph_t module, graph;
  cudaGraphExec_t replayable;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  gather<<<batch, width, 0, s>>>(table, ids, out, width);  // LAUNCH
  normalise<<<batch, width, 0, s>>>(out);
  cudaStreamEndCapture(s, &module);
  cudaGraphNode_t child, clear;
  cudaMemsetParams zero = {out, 0, 0, 4, size_t(batch) * width, 1};
  cudaGraphCreate(&graph, 0);
  cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zero);
  cudaGraphAddChildGraphNode(&child, graph, &clear, 1, module);
  cudaGraphInstantiate(&replayable, graph, 0);
  cudaGraphLaunch(replayable, s);  // LAUNCH
  return cudaStreamSynchronize(s) != cudaSuccess;
}
