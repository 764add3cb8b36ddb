// One thread creates and destroys contexts while another launches in the primary context. Then a launch fails.
// Plan: fault kernel=scale nth=3001 code=700
#include <thread>

#include "driver.h"

static CUcontext make_context(CUdevice device) {
  CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
  CHECK(cuCtxCreate(&context, nullptr, 0, device));
#else
  CHECK(cuCtxCreate(&context, 0, device));
#endif
  return context;
}

static void make_contexts(CUdevice device) {
  for (int i = 0; i < 100; ++i) {
    CUcontext context = make_context(device);
    CUmodule module = nullptr;
    CHECK(cuModuleLoadData(&module, "target"));
    CUfunction kernel = nullptr;
    CHECK(cuModuleGetFunction(&kernel, module, "passing"));
    for (int k = 0; k < 3; ++k) LAUNCH(kernel, nullptr);
    CHECK(cuCtxSynchronize());
    CHECK(cuModuleUnload(module));
    CHECK(cuCtxDestroy(context));
  }
}

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  std::thread other(make_contexts, 0);
  for (int i = 0; i < 3000; ++i) LAUNCH(scale, nullptr);
  other.join();
  LAUNCH(scale, nullptr);  // TRUE LINE
  LAUNCH(scale, nullptr);
  CHECK(cuCtxSynchronize());  // REPORTED LINE
}
