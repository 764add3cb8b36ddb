// A program that starts a profiler of its own.
#include <cupti.h>

#include "driver.h"

static void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

int main() {
  Driver driver;
  CUpti_SubscriberHandle subscriber = nullptr;
  std::printf("subscribing: %d\n", cuptiSubscribe(&subscriber, ignore, nullptr));
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, nullptr);
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
