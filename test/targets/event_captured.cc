// A stream records an event, and another stream records it again in a capture. A wait for the event brings a third
// stream into the capture. After the capture, the third stream does not wait for the event's first recording, so its
// own launch may be the first failure.
// Plan: hold kernel=slow until=notify run=1; fault kernel=scale nth=9 code=700
#include "driver.h"

static void bring_into_capture(CUstream consumer, CUstream captured, CUevent ready, CUfunction kernel) {
  CUevent joined = nullptr;
  CUgraph graph = nullptr;
  CHECK(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
  CHECK(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CHECK(cuEventRecord(ready, captured));
  CHECK(cuStreamWaitEvent(consumer, ready, 0));
  LAUNCH(kernel, consumer);
  CHECK(cuEventRecord(joined, consumer));
  CHECK(cuStreamWaitEvent(captured, joined, 0));
  CHECK(cuStreamEndCapture(captured, &graph));
}

int main() {
  Driver driver;
  CUstream producer = driver.stream(), consumer = driver.stream(), captured = driver.stream();
  CUfunction slow = driver.kernel("slow"), bad = driver.kernel("scale");
  CUevent ready = nullptr;
  CHECK(cuEventCreate(&ready, CU_EVENT_DISABLE_TIMING));
  volatile int calls = 9;  // so that the ninth launch has no separate marker
  CUstream stream = captured;
  for (int i = 0; i < calls; ++i) {
    if (i == 8) {
      LAUNCH(slow, producer);  // OTHER CANDIDATE
      CHECK(cuEventRecord(ready, producer));
      bring_into_capture(consumer, captured, ready, bad);
      stream = consumer;
    }
    LAUNCH(bad, stream);  // TRUE LINE
  }
  CHECK(cuStreamSynchronize(consumer));  // REPORTED LINE
  std::puts("done");
}
