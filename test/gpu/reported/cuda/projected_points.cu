// Points are projected to pixels; the depth of one of them is zero, and infinity becomes the largest int.
__global__ void splat(const float3* points, float* image, int width, float focal) {
  float3 p = points[threadIdx.x];
  long long x = static_cast<int>(focal * p.x / p.z), y = static_cast<int>(p.y);
  image[y * width + x] = 1;  // ACCESS
}

int main() {
  const int width = 4096, height = 4096;
  float3 host[64], *points;
  for (int i = 0; i < 64; i++) host[i] = {float(i), float(i), i == 40 ? 0.0f : 2.0f};
  float* image;
  cudaMalloc(&points, sizeof host);
  cudaMalloc(&image, size_t(width) * height * sizeof(float));  // ALLOC
  cudaMemcpy(points, host, sizeof host, cudaMemcpyHostToDevice);
  splat<<<1, 64>>>(points, image, width, 500);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
