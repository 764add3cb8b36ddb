// An array of pointers in a structure by value: the third moment was not allocated, but it is counted.
struct Optimizer {
  float* moments[4];
  float rate;
  int used;
};

__global__ void update(Optimizer optimizer, float* weights) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int m = 0; m < optimizer.used; m++) weights[i] -= optimizer.rate * optimizer.moments[m][i];  // ACCESS
}

int main() {
  const int n = 1 << 20;
  Optimizer optimizer = {};
  float* weights;
  cudaMalloc(&weights, n * sizeof(float));
  for (int m = 0; m < 2; m++) cudaMalloc(&optimizer.moments[m], n * sizeof(float));
  optimizer.rate = 0.001f;
  optimizer.used = 2;
  update<<<n / 256, 256>>>(optimizer, weights);
  optimizer.used = 3;
  update<<<n / 256, 256>>>(optimizer, weights);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
