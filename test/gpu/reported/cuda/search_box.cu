// A buffer for a fixed number of grid points, and a search box that the user made larger.
constexpr int MOST_POINTS = 80 * 80 * 80;

__global__ void energies(float* grid, int side, float spacing) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
  if (x < side) grid[(size_t(z) * side + y) * side + x] = spacing * (x + y + z);  // ACCESS
}

int main() {
  float* grid;
  cudaMalloc(&grid, MOST_POINTS * sizeof(float));  // ALLOC
  for (int side : {60, 80, 640}) {
    energies<<<dim3((side + 127) / 128, side, side), 128>>>(grid, side, 0.375f);  // LAUNCH
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  }
  return 0;
}
