// No CUDA runtime at all: the program opens libcuda with dlopen and loads a kernel from PTX text.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>

const char* const kText = R"(.version 6.4
.target sm_75
.address_size 64
.visible .entry stray_store(.param .u64 p) {
  .reg .b64 %a<4>;
  ld.param.u64 %a1, [p];
  add.u64 %a3, %a1, 4398046511104;
  st.u64 [%a3], %a1;
  ret;
})";

template <typename F>
F* entry(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}

int main() {
  void* libcuda = dlopen("libcuda.so.1", RTLD_NOW);
  CUcontext context;
  CUmodule module;
  CUfunction kernel;
  CUdeviceptr p = 0;
  entry<decltype(cuInit)>(libcuda, "cuInit")(0);
  entry<decltype(cuDevicePrimaryCtxRetain)>(libcuda, "cuDevicePrimaryCtxRetain")(&context, 0);
  entry<decltype(cuCtxSetCurrent)>(libcuda, "cuCtxSetCurrent")(context);
  entry<decltype(cuModuleLoadData)>(libcuda, "cuModuleLoadData")(&module, kText);
  entry<decltype(cuModuleGetFunction)>(libcuda, "cuModuleGetFunction")(&kernel, module, "stray_store");
  entry<decltype(cuMemAlloc)>(libcuda, "cuMemAlloc_v2")(&p, 4096);
  void* arguments[] = {&p};
  auto launch = entry<decltype(cuLaunchKernel)>(libcuda, "cuLaunchKernel");
  launch(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr);              // TRUE LINE
  CUresult e = entry<decltype(cuCtxSynchronize)>(libcuda, "cuCtxSynchronize")();  // BLAMED
  printf("%d\n", e);
  return e != CUDA_SUCCESS;
}
