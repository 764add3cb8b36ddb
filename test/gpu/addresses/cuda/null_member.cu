// A structure is passed by value: its scale was never set, and the kernel does not check it.
struct Layer {
  const float* weights;
  long long inputs;
  const float* scale;
  float* out;
};

__global__ void forward(Layer layer) {
  int i = threadIdx.x;
  layer.out[i] = layer.weights[i] * layer.scale[i];  // ACCESS
}

int main() {
  Layer layer{nullptr, 32, nullptr, nullptr};
  float *weights, *out;
  cudaMalloc(&weights, 4096);
  cudaMalloc(&out, 4096);
  layer.weights = weights;
  layer.out = out;
  forward<<<1, 32>>>(layer);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
