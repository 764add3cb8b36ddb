// A stencil in three dimensions: the neighbours in z are read in the first and the last plane, too.
__global__ void diffuse(const float* in, float* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
  long long plane = (long long)width * height, at = z * plane + (long long)y * width + x;
  float left = x > 0 ? in[at - 1] : in[at], right = x + 1 < width ? in[at + 1] : in[at];
  out[at] = 0.25f * (left + right + in[at - plane] + in[at + plane]);  // ACCESS
}

int main() {
  const int width = 16384, height = 16384, depth = 4;
  const size_t bytes = size_t(width) * height * depth * sizeof(float);
  float *in, *out;
  cudaMalloc(&in, bytes);  // ALLOC
  cudaMalloc(&out, bytes);
  cudaMemset(in, 0, bytes);
  diffuse<<<dim3(width / 256, height, depth), 256>>>(in, out, width, height);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
