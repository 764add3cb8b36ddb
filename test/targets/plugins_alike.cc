// Two libraries with the same code, compiled from different lines, that libraries_alike opens one after the other.
#include "driver.h"

static CUmodule g_module;

#ifdef FIRST
extern "C" void step(CUstream stream) {
  CUfunction scale = nullptr;
  CHECK(cuModuleLoadData(&g_module, "target"));
  CHECK(cuModuleGetFunction(&scale, g_module, "scale"));
  LAUNCH(scale, stream);
}
#else
extern "C" void step(CUstream stream) {
  CUfunction scale = nullptr;
  CHECK(cuModuleLoadData(&g_module, "target"));
  CHECK(cuModuleGetFunction(&scale, g_module, "scale"));
  LAUNCH(scale, stream);  // TRUE LINE
}
#endif

[[gnu::destructor]] static void unload() { CHECK(cuModuleUnload(g_module)); }
