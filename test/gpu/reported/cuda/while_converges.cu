// Correct: a loop inside a graph that ends when its counter is large enough.
__global__ void step(float* x, int* count, cudaGraphConditionalHandle again) {
  x[threadIdx.x] *= 0.5f;
  if (threadIdx.x == 0) cudaGraphSetConditional(again, ++*count < 20);
}

int main() {
  float* x;
  int* count;
  cudaMalloc(&x, 256 * sizeof(float));
  cudaMalloc(&count, sizeof(int));
  cudaMemset(x, 0, 256 * sizeof(float));
  cudaMemset(count, 0, sizeof(int));
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaGraph_t graph, body;
  cudaGraphExec_t replayable;
  cudaGraphNode_t node;
  cudaGraphCreate(&graph, 0);
  cudaGraphNodeParams loop = {};
  loop.type = cudaGraphNodeTypeConditional;
  cudaGraphConditionalHandleCreate(&loop.conditional.handle, graph, 1, cudaGraphCondAssignDefault);
  loop.conditional.type = cudaGraphCondTypeWhile;
  loop.conditional.size = 1;
  cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &loop);
  body = loop.conditional.phGraph_out[0];
  cudaStreamBeginCaptureToGraph(s, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed);
  step<<<1, 256, 0, s>>>(x, count, loop.conditional.handle);
  cudaStreamEndCapture(s, &body);
  if (cudaGraphInstantiate(&replayable, graph, 0) != cudaSuccess) return 77;  // the driver lacks such nodes
  cudaGraphLaunch(replayable, s);
  return cudaStreamSynchronize(s) != cudaSuccess;
}
