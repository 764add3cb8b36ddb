// The branch of a graph is captured from a function that allocates a temporary buffer.
__global__ void decide(const int* step, cudaGraphConditionalHandle branch) {
  cudaGraphSetConditional(branch, *step % 2);
}

__global__ void add(float* x, float* temporary, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  temporary[i] = 2 * x[i];
  x[i] += temporary[i];
}

void correct(float* x, int n, cudaStream_t s) {
  float* temporary = nullptr;
  cudaMallocAsync(&temporary, n * sizeof(float), s);  // LAUNCH
  add<<<n / 256, 256, 0, s>>>(x, temporary, n);
  cudaFreeAsync(temporary, s);  // LAUNCH
}

int main() {
  const int n = 1 << 20;
  float* x;
  int* step;
  cudaStream_t s;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&step, sizeof(int));
  cudaMemset(x, 0, n * sizeof(float));
  cudaMemset(step, 0, sizeof(int));
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  correct(x, n, s);
  if (cudaStreamSynchronize(s) != cudaSuccess) return 77;
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
  if (cudaGraphAddNode(&node, graph, &first, nullptr, 1, &branch) != cudaSuccess) return 77;
  body = branch.conditional.phGraph_out[0];
  cudaStreamBeginCaptureToGraph(s, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed);
  correct(x, n, s);
  if (cudaStreamEndCapture(s, &body) != cudaSuccess) return 1;               // LAUNCH
  if (cudaGraphInstantiate(&replayable, graph, 0) != cudaSuccess) return 1;  // LAUNCH
  cudaGraphLaunch(replayable, s);                                            // LAUNCH
  return cudaStreamSynchronize(s) != cudaSuccess;
}
