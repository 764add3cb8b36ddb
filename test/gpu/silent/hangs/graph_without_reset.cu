// A graph's kernel waits for a flag in host memory. The host set it for the first replays, and clears it before the
// third one.
// Related: https://github.com/microsoft/onnxruntime/pull/32121 (a replay reads what the host holds at the time)
#include "../bounded.cuh"

__global__ void wait_for(const int* flag, long long most) { appears(flag, 1, most); }  // SPINS

int main() {
  int *flag, *memory = on_device<int>(64);
  cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped);
  *flag = 1;
  cudaStream_t stream = new_stream();
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  cudaMemsetAsync(memory, 0, 256, stream);
  wait_for<<<1, 1, 0, stream>>>(flag, ticks(8));  // CAPTURED
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&replay, graph, 0);
  for (int step = 0; step < 3; ++step) {
    *static_cast<volatile int*>(flag) = step < 2;
    cudaGraphLaunch(replay, stream);  // STUCK
    cudaStreamSynchronize(stream);    // WAITS
  }
  return finished();
}
