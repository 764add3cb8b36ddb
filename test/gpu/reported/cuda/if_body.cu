// A branch inside a graph runs for the first time long after its buffer was freed.
__global__ void decide(const int* step, cudaGraphConditionalHandle branch) {
  cudaGraphSetConditional(branch, *step == 2);
}

__global__ void checkpoint(const float* weights, float* saved) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  saved[i] = weights[i];  // ACCESS
}

int main() {
  const int n = 16 << 20;
  float *weights, *saved;
  int* step;
  cudaMalloc(&weights, n * sizeof(float));
  cudaMalloc(&step, sizeof(int));
  cudaMalloc(&saved, n * sizeof(float));  // ALLOC
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaGraph_t graph, body;
  cudaGraphExec_t replayable;
  cudaGraphCreate(&graph, 0);
  cudaGraphNodeParams branch = {};
  branch.type = cudaGraphNodeTypeConditional;
  cudaGraphConditionalHandleCreate(&branch.conditional.handle, graph, 0, 0);
  branch.conditional.type = cudaGraphCondTypeIf;
  branch.conditional.size = 1;
  cudaStreamBeginCaptureToGraph(s, graph, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed);
  decide<<<1, 1, 0, s>>>(step, branch.conditional.handle);
  cudaStreamEndCapture(s, &graph);
  cudaGraphNode_t first, node;
  size_t count = 1;
  cudaGraphGetRootNodes(graph, &first, &count);
  cudaGraphAddNode(&node, graph, &first, nullptr, 1, &branch);
  body = branch.conditional.phGraph_out[0];
  cudaStreamBeginCaptureToGraph(s, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed);
  checkpoint<<<n / 256, 256, 0, s>>>(weights, saved);  // LAUNCH
  cudaStreamEndCapture(s, &body);
  if (cudaGraphInstantiate(&replayable, graph, 0) != cudaSuccess) return 77;  // the driver lacks such nodes
  for (int i = 0; i < 4; i++) {
    cudaMemcpyAsync(step, &i, sizeof i, cudaMemcpyHostToDevice, s);
    cudaGraphLaunch(replayable, s);  // LAUNCH
    if (cudaStreamSynchronize(s) != cudaSuccess) return 1;
    if (i == 0) cudaFree(saved);  // FREED
  }
  return 0;
}
