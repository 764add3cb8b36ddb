// A graph that replays correctly until a buffer that it uses is freed: ./graph_replay kernel|copy
#include <cstdio>
#include <string>

__global__ void fill(int* p, int v) { p[threadIdx.x] = v; }

int main(int, char** argv) {
  bool copy = std::string(argv[1]) == "copy";
  int *p, *soon_freed;
  cudaStream_t s;
  cudaGraph_t graph;
  cudaGraphExec_t replayable;
  cudaStreamCreate(&s);
  cudaMalloc(&p, 64 << 20);
  cudaMalloc(&soon_freed, 64 << 20);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  for (int i = 0; i < 5; i++) fill<<<1, 32, 0, s>>>(p, i);
  if (copy)
    cudaMemcpyAsync(soon_freed, p, 32 << 20, cudaMemcpyDeviceToDevice, s);  // TRUE LINE copy
  else
    fill<<<1, 32, 0, s>>>(soon_freed, 5);  // TRUE LINE kernel
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&replayable, graph, 0);
  cudaError_t e = cudaSuccess;
  for (int replay = 0; replay < 6 && e == cudaSuccess; replay++) {
    if (replay == 4) cudaFree(soon_freed);
    e = cudaGraphLaunch(replayable, s);                  // TRUE LINE
    if (e == cudaSuccess) e = cudaStreamSynchronize(s);  // BLAMED
  }
  printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
