// A structure in device memory has an optional array, which this model lacks; the kernel uses it with a large index.
#include <vector>

struct Fields {
  const float* mass;
  const float* charge;
};

__global__ void forces(const Fields* fields, const int* atoms, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int atom = atoms[i];
  out[i] = fields->mass[atom] * fields->charge[atom];  // ACCESS
}

int main() {
  const int atoms = 128 << 20, n = 1 << 16, first = 100000000;
  Fields fields{}, *on_device;
  float *mass, *out;
  int* ids;
  cudaMalloc(&mass, size_t(atoms) * sizeof(float));
  cudaMalloc(&on_device, sizeof fields);
  cudaMalloc(&ids, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemset(mass, 0, size_t(atoms) * sizeof(float));
  fields.mass = mass;
  cudaMemcpy(on_device, &fields, sizeof fields, cudaMemcpyHostToDevice);
  std::vector<int> host(n);
  for (int i = 0; i < n; i++) host[i] = first + i;
  cudaMemcpy(ids, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  forces<<<n / 256, 256>>>(on_device, ids, out, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
