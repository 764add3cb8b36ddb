// The rank in the whole job is taken for the number of the device on this machine.
#include <cstdio>

int main() {
  const int first_rank_here = 8;
  int devices = 0;
  cudaGetDeviceCount(&devices);
  for (int local = 0; local < devices; local++) {
    int rank = first_rank_here + local;
    cudaError_t error = cudaSetDevice(rank);  // LAUNCH
    if (error != cudaSuccess) {
      fprintf(stderr, "rank %d: %s\n", rank, cudaGetErrorString(error));
      return devices > first_rank_here ? 77 : 1;
    }
  }
  return 0;
}
