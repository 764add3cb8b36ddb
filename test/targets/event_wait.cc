// The second stream waits for the first stream, on which the fault occurs. The second stream's next operation therefore
// cannot have failed first.
// Plan: fault kernel=scale nth=2 code=700
#include "driver.h"

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  CUfunction use = driver.kernel("use");
  CUstream producer = driver.stream();
  CUstream consumer = driver.stream();
  CUevent ready = nullptr;
  CHECK(cuEventCreate(&ready, CU_EVENT_DISABLE_TIMING));
  LAUNCH(use, consumer);
  LAUNCH(scale, producer);
  LAUNCH(scale, producer);  // TRUE LINE
  CHECK(cuEventRecord(ready, producer));
  CHECK(cuStreamWaitEvent(consumer, ready, 0));
  LAUNCH(use, consumer);                 // PRUNED
  CHECK(cuStreamSynchronize(consumer));  // REPORTED LINE
  std::puts("done");
}
