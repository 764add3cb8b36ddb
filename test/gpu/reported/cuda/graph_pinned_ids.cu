// A graph copies ids from pinned memory at every replay; unused entries get a marker before the second replay.
__global__ void embed(const float* table, const int* ids, float* out) {
  long long row = ids[blockIdx.x];
  out[blockIdx.x * blockDim.x + threadIdx.x] = table[row * blockDim.x + threadIdx.x];  // ACCESS
}

int main() {
  const int rows = 65536, width = 256, slots = 64, unused = 0x7fffffff;
  int *staging, *ids;
  float *table, *out;
  cudaMallocHost(&staging, slots * sizeof(int));
  cudaMalloc(&ids, slots * sizeof(int));
  cudaMalloc(&table, size_t(rows) * width * sizeof(float));  // ALLOC
  cudaMalloc(&out, slots * width * sizeof(float));
  for (int i = 0; i < slots; i++) staging[i] = i;
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaGraph_t graph;
  cudaGraphExec_t replayable;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  cudaMemcpyAsync(ids, staging, slots * sizeof(int), cudaMemcpyHostToDevice, s);
  embed<<<slots, width, 0, s>>>(table, ids, out);  // LAUNCH
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&replayable, graph, 0);
  cudaGraphLaunch(replayable, s);
  cudaStreamSynchronize(s);
  for (int i = 48; i < slots; i++) staging[i] = unused;
  cudaGraphLaunch(replayable, s);  // LAUNCH
  return cudaStreamSynchronize(s) != cudaSuccess;
}
