// A buffer is freed after its use was captured, and the graph is replayed.
__global__ void decode(float* state, const float* weights) { state[threadIdx.x] += weights[threadIdx.x]; }  // ACCESS

int main() {
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  float *state, *weights;
  cudaMalloc(&state, 4096);
  cudaMalloc(&weights, 128 << 20);  // ALLOC
  cudaGraph_t graph;
  cudaGraphExec_t replayable;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  decode<<<1, 64, 0, s>>>(state, weights);  // LAUNCH
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&replayable, graph, 0);
  cudaGraphLaunch(replayable, s);
  cudaStreamSynchronize(s);
  cudaFree(weights);               // FREED
  cudaGraphLaunch(replayable, s);  // LAUNCH
  return cudaStreamSynchronize(s) != cudaSuccess;
}
