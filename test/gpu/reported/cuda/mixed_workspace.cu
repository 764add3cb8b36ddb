// One workspace holds the offsets of cameras and then sums in double; the number of offsets is odd.
struct Workspace {
  char* memory;

  explicit Workspace(size_t bytes) { cudaMalloc(&memory, bytes); }
  int* offsets() const { return reinterpret_cast<int*>(memory); }
  double* sums(int cameras) const { return reinterpret_cast<double*>(memory + cameras * sizeof(int)); }
};

__global__ void number(int* offsets, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) offsets[i] = i * 9;
}

__global__ void clear(double* sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sums[i] = 0;  // ACCESS
}

bool prepare(const Workspace& workspace, int cameras, int points) {
  number<<<(cameras + 255) / 256, 256>>>(workspace.offsets(), cameras);
  clear<<<(points + 255) / 256, 256>>>(workspace.sums(cameras), points);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const Workspace workspace(64 << 20);
  if (!prepare(workspace, 1024, 1 << 20)) return 77;
  return prepare(workspace, 1031, 1 << 20) ? 0 : 1;
}
