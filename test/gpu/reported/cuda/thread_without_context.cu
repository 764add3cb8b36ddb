// A worker thread allocates with the driver's functions, but no context is current in a new thread.
#include <cuda.h>

#include <cstdio>
#include <thread>

CUresult result;

void work() {
  CUdeviceptr buffer;
  result = cuMemAlloc(&buffer, 64 << 20);  // LAUNCH
}

int main() {
  CUdevice device;
  CUcontext context;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS) return 77;
  if (cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) return 77;
  cuCtxSetCurrent(context);
  std::thread worker(work);
  worker.join();
  if (result != CUDA_SUCCESS) fprintf(stderr, "worker: error %d\n", result);
  return result != CUDA_SUCCESS;
}
