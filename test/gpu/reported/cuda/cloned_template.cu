// A graph is cloned for each layer, but the layer's buffer is set in the node of the template instead of the clone.
#include <vector>

__global__ void scale(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 0.5f;  // ACCESS
}

struct Template {
  cudaGraph_t graph;
  cudaGraphNode_t node;
  float* x = nullptr;  // each layer has its own
  int n;
  void* arguments[2] = {&x, &n};
  cudaKernelNodeParams params = {};

  explicit Template(int n) : n(n) {
    params.func = reinterpret_cast<void*>(scale);
    params.gridDim = dim3(n / 256);
    params.blockDim = dim3(256);
    params.kernelParams = arguments;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params);  // LAUNCH
  }
  cudaGraphExec_t for_layer(float* buffer) {
    cudaGraph_t clone;
    cudaGraphExec_t replayable;
    cudaGraphClone(&clone, graph);
    x = buffer;
    cudaGraphKernelNodeSetParams(node, &params);
    if (cudaGraphInstantiate(&replayable, clone, 0) != cudaSuccess) return nullptr;
    return replayable;
  }
};

int main() {
  const int n = 1 << 20;
  Template layer(n);
  std::vector<cudaGraphExec_t> replayable;
  for (int i = 0; i < 4; i++) {
    float* buffer;
    cudaMalloc(&buffer, n * sizeof(float));
    cudaMemset(buffer, 0, n * sizeof(float));
    replayable.push_back(layer.for_layer(buffer));
    if (!replayable.back()) return 77;
  }
  for (cudaGraphExec_t each : replayable) {
    cudaGraphLaunch(each, 0);  // LAUNCH
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  }
  return 0;
}
