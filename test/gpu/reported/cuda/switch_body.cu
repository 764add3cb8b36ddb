// A graph selects the branch of a grid's level. The captured sizes grow from level to level instead of shrinking.
__global__ void choose(const int* level, cudaGraphConditionalHandle branch) { cudaGraphSetConditional(branch, *level); }

__global__ void norm(const float* field, int n, float* sum) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += field[i];  // ACCESS
  atomicAdd(sum, mine);
}

int main() {
  const int n = 1 << 24, levels = 3;
  float *fields[levels], *sum;
  int* level;
  cudaMalloc(&sum, sizeof(float));
  cudaMalloc(&level, sizeof(int));
  cudaMalloc(&fields[0], n * sizeof(float));
  cudaMalloc(&fields[1], (n >> 2) * sizeof(float));
  cudaMalloc(&fields[2], (n >> 4) * sizeof(float));  // ALLOC
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaGraph_t graph;
  cudaGraphExec_t replayable;
  cudaGraphCreate(&graph, 0);
  cudaGraphNodeParams branch = {};
  branch.type = cudaGraphNodeTypeConditional;
  cudaGraphConditionalHandleCreate(&branch.conditional.handle, graph, 0, 0);
  branch.conditional.type = cudaGraphCondTypeSwitch;
  branch.conditional.size = levels;
  cudaStreamBeginCaptureToGraph(s, graph, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed);
  choose<<<1, 1, 0, s>>>(level, branch.conditional.handle);
  cudaStreamEndCapture(s, &graph);
  cudaGraphNode_t first, node;
  size_t count = 1;
  cudaGraphGetRootNodes(graph, &first, &count);
  if (cudaGraphAddNode(&node, graph, &first, nullptr, 1, &branch) != cudaSuccess) return 77;
  for (int k = 0; k < levels; k++) {
    cudaGraph_t body = branch.conditional.phGraph_out[k];
    cudaStreamBeginCaptureToGraph(s, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed);
    norm<<<256, 256, 0, s>>>(fields[k], n << 2 * k, sum);  // LAUNCH
    cudaStreamEndCapture(s, &body);
  }
  if (cudaGraphInstantiate(&replayable, graph, 0) != cudaSuccess) return 77;  // the driver lacks such nodes
  for (int k : {0, 2}) {
    cudaMemcpyAsync(level, &k, sizeof k, cudaMemcpyHostToDevice, s);
    cudaGraphLaunch(replayable, s);  // LAUNCH
    if (cudaStreamSynchronize(s) != cudaSuccess) return k == 0 ? 77 : 1;
  }
  return 0;
}
