// An event is recorded behind a bad kernel, and then stands for something else: that the host sees it complete says
// nothing of the kernel. "gone": another event of the same handle, which nobody has recorded, if the runtime hands the
// handle out again. "graph": a graph in another stream records it.
#include <cstdio>
#include <string>

#include "spin.cuh"

__global__ void far_load(int* p) { p[0] = p[threadIdx.x + (1ull << 38)]; }

cudaGraphExec_t recording(cudaStream_t stream, cudaEvent_t event) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphUpload(exec, stream);
  return exec;
}

int main(int, char** argv) {
  const std::string kind = argv[1];
  int* p;
  cudaStream_t bad, beside;
  cudaEvent_t event;
  cudaMalloc(&p, 4096);
  cudaStreamCreateWithFlags(&bad, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaGraphExec_t graph = kind == "graph" ? recording(beside, event) : nullptr;
  spin<<<1, 32, 0, bad>>>(p, 1000);
  cudaDeviceSynchronize();
  spin<<<1, 32, 0, bad>>>(p, 500000000);
  far_load<<<1, 32, 0, bad>>>(p);  // TRUE LINE
  cudaEventRecord(event, bad);
  if (kind == "gone") {
    cudaEventDestroy(event);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  } else {
    cudaGraphLaunch(graph, beside);
  }
  cudaEventSynchronize(event);
  spin<<<1, 32, 0, bad>>>(p, 1000);
  cudaError_t e = cudaStreamSynchronize(bad);  // BLAMED
  printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
