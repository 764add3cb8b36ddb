// A graph and the memory that its second kernel writes: ./graph_memory stale|reused|repointed|pooled|kept
#include <cstdio>
#include <string>

constexpr size_t kBytes = 64 << 20;

__global__ void fill(int* p, int v) { p[threadIdx.x] = v; }

int main(int, char** argv) {
  const std::string shape = argv[1];
  int *p, *rows, *other;
  cudaStream_t s;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCreate(&s);
  cudaMalloc(&p, kBytes);
  if (shape == "pooled") {
    cudaMallocAsync(&rows, kBytes, s);
    cudaStreamSynchronize(s);
  } else {
    cudaMalloc(&rows, kBytes);  // ALLOCATED stale, ALLOCATED reused
  }
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  fill<<<1, 32, 0, s>>>(p, 1);
  fill<<<1, 64, 0, s>>>(rows, 2);  // TRUE LINE stale, TRUE LINE reused
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, s);
  cudaStreamSynchronize(s);
  if (shape == "stale" || shape == "reused") cudaFree(rows);  // FREED stale, FREED reused
  if (shape == "reused") cudaMalloc(&other, kBytes);
  if (shape == "repointed") {
    cudaGraphNode_t nodes[2];
    size_t count = 2;
    cudaGraphGetNodes(graph, nodes, &count);
    cudaMalloc(&other, kBytes);
    int value = 3;
    void* parameters[] = {&other, &value};
    for (cudaGraphNode_t node : nodes) {
      cudaKernelNodeParams kernel = {};
      cudaGraphKernelNodeGetParams(node, &kernel);
      kernel.kernelParams = parameters;
      cudaGraphExecKernelNodeSetParams(exec, node, &kernel);
    }
    cudaFree(rows);
  }
  if (shape == "pooled") {  // the pool keeps the memory, and returns the same address again
    cudaFreeAsync(rows, s);
    cudaMallocAsync(&rows, kBytes, s);
  }
  cudaError_t e = cudaGraphLaunch(exec, s);
  if (e == cudaSuccess) e = cudaStreamSynchronize(s);  // BLAMED stale
  printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
