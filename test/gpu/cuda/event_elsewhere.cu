// An event is recorded after a bad kernel, and is then reused for something else, so its completion says nothing about
// the kernel. "gone": the handle now belongs to a new event that was never recorded, if the runtime reuses the handle.
// "graph": a graph on another stream records the event.
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
