// The error occurs, but the program continues and exits with 0: ./unwatched caught|swallowed|unasked|reset
#include <cstdio>
#include <string>

__global__ void fill(int* p) { p[threadIdx.x] = 1; }
__global__ void far_store(int* p) { p[threadIdx.x + (1ull << 40)] = 1; }

int main(int, char** argv) {
  std::string how = argv[1];
  int *p, host = 0;
  cudaMalloc(&p, 4096);
  fill<<<1, 32>>>(p);
  far_store<<<1, 32>>>(p);  // TRUE LINE
  if (how == "unasked") return 0;
  if (how == "reset") {
    cudaDeviceReset();
    return 0;
  }
  if (how == "swallowed") {
    cudaMemcpy(&host, p, sizeof host, cudaMemcpyDeviceToHost);  // BLAMED swallowed
    printf("result %d\n", host);
    return 0;
  }
  for (int step = 0; step < 5; step++) {
    fill<<<1, 32>>>(p);
    cudaError_t e = cudaDeviceSynchronize();  // BLAMED caught
    printf("step %d %s, going on\n", step, e == cudaSuccess ? "done" : "failed");
  }
}
