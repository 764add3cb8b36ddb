// A loop inside a graph: its body advances until a residual is small, which never happens, and leaves the array.
__global__ void smooth(float* rows, unsigned long long* row, size_t width) {
  rows[*row * width + threadIdx.x] *= 0.5f;  // ACCESS
}

__global__ void advance(unsigned long long* row, const float* residual, cudaGraphConditionalHandle again) {
  *row = *row * 4 + 1;
  cudaGraphSetConditional(again, *residual > 1e-6f);
}

int main() {
  const size_t width = 1 << 20, rows = 64;
  float *field, *residual, one = 1;
  unsigned long long* row;
  cudaMalloc(&field, rows * width * sizeof(float));  // ALLOC
  cudaMalloc(&residual, sizeof one);
  cudaMalloc(&row, sizeof *row);
  cudaMemset(row, 0, sizeof *row);
  cudaMemcpy(residual, &one, sizeof one, cudaMemcpyHostToDevice);
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaGraph_t graph, body;
  cudaGraphExec_t replayable;
  cudaGraphCreate(&graph, 0);
  cudaGraphNodeParams loop = {};
  loop.type = cudaGraphNodeTypeConditional;
  cudaGraphConditionalHandleCreate(&loop.conditional.handle, graph, 1, cudaGraphCondAssignDefault);
  loop.conditional.type = cudaGraphCondTypeWhile;
  loop.conditional.size = 1;
  cudaGraphNode_t node;
  cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &loop);
  body = loop.conditional.phGraph_out[0];
  cudaStreamBeginCaptureToGraph(s, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed);
  smooth<<<1, 256, 0, s>>>(field, row, width);  // LAUNCH
  advance<<<1, 1, 0, s>>>(row, residual, loop.conditional.handle);
  cudaStreamEndCapture(s, &body);
  if (cudaGraphInstantiate(&replayable, graph, 0) != cudaSuccess) return 77;  // the driver lacks such nodes
  cudaGraphLaunch(replayable, s);                                             // LAUNCH
  return cudaStreamSynchronize(s) != cudaSuccess;
}
