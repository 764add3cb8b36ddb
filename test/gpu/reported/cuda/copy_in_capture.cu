// A function that is captured copies its parameters with a copy that waits, from memory that is not pinned.
#include <vector>

__global__ void weigh(const float* weights, int count, float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= weights[i % count];
}

struct Step {
  float *weights, *x;
  int n = 1 << 20;
  std::vector<float> host = std::vector<float>(4096, 0.5f);

  Step() {
    cudaMalloc(&weights, host.size() * sizeof(float));
    cudaMalloc(&x, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
  }
  bool run(cudaStream_t stream) {
    if (cudaMemcpy(weights, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice) != cudaSuccess)  // LAUNCH
      return false;
    weigh<<<n / 256, 256, 0, stream>>>(weights, static_cast<int>(host.size()), x, n);
    return cudaGetLastError() == cudaSuccess;
  }
};

int main() {
  Step step;
  cudaStream_t stream;
  if (cudaStreamCreate(&stream) != cudaSuccess) return 77;
  if (!step.run(stream) || cudaStreamSynchronize(stream) != cudaSuccess) return 77;
  cudaGraph_t graph;
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) != cudaSuccess) return 77;
  if (!step.run(stream)) return 1;
  return cudaStreamEndCapture(stream, &graph) != cudaSuccess;
}
