// One thread begins a capture, and a helper thread tries to end it.
#include <thread>

__global__ void scale(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }

int main() {
  float* x;
  cudaStream_t stream;
  cudaMalloc(&x, 65536 * sizeof(float));
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) != cudaSuccess) return 77;
  scale<<<256, 256, 0, stream>>>(x);
  cudaGraph_t graph = nullptr;
  cudaError_t error = cudaSuccess;
  std::thread helper([&] { error = cudaStreamEndCapture(stream, &graph); });  // LAUNCH
  helper.join();
  return error != cudaSuccess;
}
