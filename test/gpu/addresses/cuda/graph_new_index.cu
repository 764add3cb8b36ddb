// A captured gather is replayed after its index buffer was refilled; one index is too large.
__global__ void gather(const float* table, const long long* ids, float* out) {
  out[threadIdx.x] = table[ids[threadIdx.x]];  // ACCESS
}

int main() {
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  float *table, *out;
  long long host[32] = {}, *ids;
  cudaMalloc(&table, 16 << 20);  // ALLOC
  cudaMalloc(&out, 4096);
  cudaMalloc(&ids, sizeof host);
  cudaMemcpy(ids, host, sizeof host, cudaMemcpyHostToDevice);
  cudaGraph_t graph;
  cudaGraphExec_t replayable;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  gather<<<1, 32, 0, s>>>(table, ids, out);  // LAUNCH
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&replayable, graph, 0);
  cudaGraphLaunch(replayable, s);
  cudaStreamSynchronize(s);
  host[12] = 3LL << 29;
  cudaMemcpy(ids, host, sizeof host, cudaMemcpyHostToDevice);
  cudaGraphLaunch(replayable, s);  // LAUNCH
  return cudaStreamSynchronize(s) != cudaSuccess;
}
