// `race_streams WHICH`: two operations on one buffer, ordered in each of the possible ways, or not ordered at all.
#include <unistd.h>

#include <cstring>

#include "driver.h"

int main(int, char** arguments) {
  const char* which = arguments[1];
  const auto is = [which](const char* name) { return std::strcmp(which, name) == 0; };
  const bool blocking = is("legacy_between") || is("nothing_between");
  Driver driver;
  CUfunction use = driver.kernel("use__8_4");
  CUstream producer = nullptr, consumer = nullptr;
  CHECK(cuStreamCreate(&producer, blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&consumer, blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
  CUdeviceptr buffer = 0;
  CHECK(cuMemAlloc(&buffer, 1 << 20));  // ALLOCATED LINE
  CUdeviceptr other = driver.allocate(1 << 20);
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  if (is("event_too_early")) CHECK(cuEventRecord(event, producer));
  CHECK(cuMemsetD8Async(buffer, 1, 1 << 20, producer));  // FIRST LINE
  if (is("event") || is("event_destroyed")) CHECK(cuEventRecord(event, producer));
  if (is("event_destroyed")) {
    CHECK(cuEventDestroy(event));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  }
  if (is("event") || is("event_too_early") || is("event_destroyed")) CHECK(cuStreamWaitEvent(consumer, event, 0));
  if (is("stream_synchronize")) CHECK(cuStreamSynchronize(producer));
  if (is("wrong_stream_synchronize")) CHECK(cuStreamSynchronize(consumer));
  if (is("context_synchronize")) CHECK(cuCtxSynchronize());
  if (is("legacy_between")) CHECK(cuMemsetD8Async(other, 0, 16, nullptr));
  CUdeviceptr place = buffer + (is("elsewhere") ? 1 << 20 : 4096);
  int value = 0;
  void* parameters[] = {&place, &value};
  CHECK(cuLaunchKernel(use, 1, 1, 1, 32, 1, 1, 0, consumer, parameters, nullptr));  // THEN LINE
  CHECK(cuCtxSynchronize());
  if (is("until_ended")) pause();
  std::puts("done");
}
