// A library's CUkernel is launched as if it were a CUfunction, and uses freed memory.
#include <cuda.h>

#include <cstdio>

const char* const kText = R"(.version 6.4
.target sm_75
.address_size 64
.visible .entry store_there(.param .u64 p, .param .u32 v) {
  .reg .b64 %a<2>;
  ld.param.u64 %a1, [p];
  st.u64 [%a1], %a1;
  ret;
})";

int main() {
  CUcontext context;
  CUlibrary library;
  CUkernel kernel;
  CUdeviceptr p = 0;
  int value = 3;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  cuLibraryLoadData(&library, kText, nullptr, nullptr, 0, nullptr, nullptr, 0);
  cuLibraryGetKernel(&kernel, library, "store_there");
  cuMemAlloc(&p, 64 << 20);  // ALLOCATED
  void* parameters[] = {&p, &value};
  cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
  cuMemFree(p);                                                                           // FREED
  cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);  // TRUE LINE
  CUresult e = cuCtxSynchronize();                                                        // BLAMED
  printf("%d\n", e);
  return e != CUDA_SUCCESS;
}
