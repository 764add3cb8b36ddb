// An injected tool, which calls the driver from inside cuInit. With INJECTED_TOOL_HOLDS_CUPTI, it subscribes to CUPTI.
#include <cuda.h>
#include <cupti.h>

#include <cstdlib>

static void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

extern "C" int InitializeInjection() {
  int count = 0;
  const bool ready = cuDeviceGetCount(&count) == CUDA_SUCCESS && count == 1;
  setenv("INJECTED_TOOL_SAW", ready ? "one device" : "nothing", 1);
  CUpti_SubscriberHandle subscriber = nullptr;
  if (getenv("INJECTED_TOOL_HOLDS_CUPTI") && cuptiSubscribe(&subscriber, ignore, nullptr) != CUPTI_SUCCESS) abort();
  return 1;
}
