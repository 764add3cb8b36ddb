// Graphs that are captured on one stream share its workspace; the reset of one graph frees it for all of them.
#include <map>

__global__ void split(float* partial, int n, float value) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) partial[i] = value;  // ACCESS
}

std::map<cudaStream_t, float*> workspaces;

float* workspace(cudaStream_t stream) {
  float*& data = workspaces[stream];
  if (!data) cudaMalloc(&data, 64 << 20);  // ALLOC
  return data;
}

struct Graph {
  cudaStream_t stream;
  cudaGraphExec_t exec = nullptr;

  Graph(cudaStream_t stream, float value) : stream(stream) {
    float* partial = workspace(stream);
    cudaGraph_t graph;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    split<<<256, 256, 0, stream>>>(partial, 16 << 20, value);  // LAUNCH
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
  }

  bool replay() {
    return cudaGraphLaunch(exec, stream) == cudaSuccess &&  // LAUNCH
           cudaStreamSynchronize(stream) == cudaSuccess;
  }

  void reset() {
    cudaGraphExecDestroy(exec);
    cudaFree(workspaces[stream]);  // FREED
    workspaces.erase(stream);
  }
};

int main() {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  Graph training(stream, 1), evaluation(stream, 2);
  if (!training.replay() || !evaluation.replay()) return 77;
  evaluation.reset();
  return training.replay() ? 0 : 1;
}
