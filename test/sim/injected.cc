// Stands for an injected tool: the driver must answer it inside cuInit.
#include <cuda.h>

#include <cstdlib>

extern "C" int InitializeInjection() {
  int count = 0;
  const bool ready = cuDeviceGetCount(&count) == CUDA_SUCCESS && count == 1;
  setenv("INJECTED_TOOL_SAW", ready ? "one device" : "nothing", 1);
  return 1;
}
