// A layer allocates its workspace at its first call, which happens while a graph is captured.
__global__ void layer(const float* in, float* workspace, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) workspace[i] = 2 * in[i];
}

float* workspace_of(int n) {
  static float* workspace = nullptr;
  if (!workspace && cudaMalloc(&workspace, n * sizeof(float)) != cudaSuccess) return nullptr;  // LAUNCH
  return workspace;
}

int main() {
  const int n = 1 << 20;
  float* in;
  cudaMalloc(&in, n * sizeof(float));
  cudaMemset(in, 0, n * sizeof(float));
  cudaDeviceSynchronize();
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaGraph_t graph;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  float* workspace = workspace_of(n);
  if (!workspace) return 1;
  layer<<<n / 256, 256, 0, s>>>(in, workspace, n);
  return cudaStreamEndCapture(s, &graph) != cudaSuccess;
}
