// A program that starts its own profiler; with "share", one that lets other tools use CUPTI too.
#include <cupti.h>

#include <cstring>

#include "driver.h"

static void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

int main(int argc, char** argv) {
  Driver driver;
  CUpti_SubscriberHandle subscriber = nullptr;
  struct {
    size_t size;
    const char* name;
    char* other;
    size_t other_size;
    uint8_t share, padding[7];
  } parameters{sizeof parameters, "profiler", nullptr, 0, argc > 1 && !std::strcmp(argv[1], "share"), {}};
  if (!parameters.share) parameters.size = offsetof(decltype(parameters), share);
  auto* passed = reinterpret_cast<CUpti_SubscriberParams*>(&parameters);
  std::printf("subscribing: %d\n", cuptiSubscribe_v2(&subscriber, ignore, nullptr, passed));
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, nullptr);
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
