// The source of a 3-D copy node is a local matrix. The graph is instantiated after the function that added the node.
// Related: https://github.com/PaddlePaddle/Paddle/pull/78568
#include <cstring>

#include "../bounded.cuh"

static double kept[16];

__global__ void apply(const double* matrix, double* points) {
  points[threadIdx.x] = matrix[threadIdx.x % 16] * points[threadIdx.x] + 1;
}

static __attribute__((noinline)) void add_upload(cudaGraph_t graph, double* device, double angle, bool corrected) {
  double transform[16];
  for (int i = 0; i < 16; ++i) transform[i] = i % 5 == 0 ? 1 : angle / (i + 1);
  if (corrected) memcpy(kept, transform, sizeof kept);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(corrected ? kept : transform, 4 * sizeof(double), 4 * sizeof(double), 4);
  copy.dstPtr = make_cudaPitchedPtr(device, 4 * sizeof(double), 4 * sizeof(double), 4);
  copy.extent = make_cudaExtent(4 * sizeof(double), 4, 1);
  copy.kind = cudaMemcpyHostToDevice;
  cudaGraphNode_t node;
  cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy);  // CAPTURE
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  double *device = on_device<double>(16), *points = on_device<double>(256);
  cudaStream_t stream = new_stream();
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaGraphCreate(&graph, 0);
  add_upload(graph, device, 0.75, corrected);
  cudaGraphInstantiate(&replay, graph, 0);
  cudaGraphLaunch(replay, stream);  // REPLAY
  apply<<<1, 256, 0, stream>>>(device, points);
  return finished();
}
