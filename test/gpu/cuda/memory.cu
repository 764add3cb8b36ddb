// Stale pointers, an address past its allocation, and a GPU without free memory: ./memory KIND
#include <cuda.h>

#include <cstdio>
#include <string>

struct Rows {
  long count;
  int *from, *to;
};

__global__ void fill(int* p, int v) { p[threadIdx.x] = v; }
__global__ void copy_rows(Rows rows, int scale) { rows.to[threadIdx.x] = rows.from[threadIdx.x] * scale; }

int main(int, char** argv) {
  std::string kind = argv[1];
  const size_t large = 64 << 20;
  int *p, *q;
  cudaMalloc(&p, large);  // ALLOCATED past_end
  fill<<<1, 32>>>(p, 0);
  fill<<<1, 32>>>(p, 0);
  if (kind == "full") {
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    int *half, *quarter, *none = nullptr;
    cudaMalloc(&half, free / 2);                  // HOLDER full
    cudaMalloc(&quarter, free / 4);               // HOLDER full
    cudaError_t e = cudaMalloc(&none, free / 2);  // TRUE LINE full
    return printf("%s\n", cudaGetErrorName(e)), e != cudaSuccess;
  }
  cudaMalloc(&q, large);  // ALLOCATED freed, ALLOCATED freed_member, ALLOCATED freed_in_buffer
  copy_rows<<<1, 32>>>({32, p, q}, 1);
  if (kind != "past_end") cudaFree(q);                // FREED freed, FREED freed_member, FREED freed_in_buffer
  if (kind == "freed") fill<<<1, 32>>>(q + 1024, 1);  // TRUE LINE freed
  if (kind == "freed_member") copy_rows<<<1, 32>>>({32, p, q}, 1);            // TRUE LINE freed_member
  if (kind == "past_end") fill<<<1, 32>>>(p + (large + (512 << 10)) / 4, 1);  // TRUE LINE past_end
  if (kind == "freed_in_buffer") {
    struct {
      int* p;
      int v = 1;
    } parameters{q};
    size_t size = 12;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    cudaFunction_t function = nullptr;
    cudaGetFuncBySymbol(&function, (const void*)fill);
    void* driver_launch = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuLaunchKernel", &driver_launch, 12000, cudaEnableDefault, &found);
    auto launch = (decltype(&cuLaunchKernel))driver_launch;
    launch((CUfunction)function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra);  // TRUE LINE freed_in_buffer
  }
  return cudaDeviceSynchronize() != cudaSuccess;  // BLAMED
}
