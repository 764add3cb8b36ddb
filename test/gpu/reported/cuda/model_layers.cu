// A model in device memory: the weights of a layer are replaced, but only the copy of the table on the host is changed.
struct Layer {
  float *weight, *bias;
  int width;
};

struct Model {
  Layer* layers;
  int count;
};

__global__ void forward(const Model* model, float* x) {
  for (int l = 0; l < model->count; l++) {
    const Layer& layer = model->layers[l];
    for (int i = threadIdx.x; i < layer.width; i += blockDim.x)
      x[i] = x[i] * layer.weight[i] + layer.bias[i];  // ACCESS
    __syncthreads();
  }
}

int main() {
  const int width = 16 << 20;
  Layer host[3], *layers;
  float* x;
  for (Layer& layer : host) {
    cudaMalloc(&layer.weight, width * sizeof(float));  // ALLOC
    cudaMalloc(&layer.bias, width * sizeof(float));
    layer.width = width;
  }
  cudaMalloc(&x, width * sizeof(float));
  cudaMalloc(&layers, sizeof host);
  cudaMemcpy(layers, host, sizeof host, cudaMemcpyHostToDevice);
  Model loaded = {layers, 3}, *model;
  cudaMalloc(&model, sizeof loaded);
  cudaMemcpy(model, &loaded, sizeof loaded, cudaMemcpyHostToDevice);
  float* merged;
  cudaMalloc(&merged, width * sizeof(float));
  cudaMemset(merged, 0, width * sizeof(float));
  cudaFree(host[1].weight);  // FREED
  host[1].weight = merged;
  forward<<<1, 1024>>>(model, x);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
