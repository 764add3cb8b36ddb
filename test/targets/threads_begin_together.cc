// Two threads make one context current at the same moment, before the driver has finished creating it. A later
// operation in the context fails.
// Plan: fail api=cuMemHostRegister_v2 code=709 beside; fault kernel=scale code=700
#include <thread>

#include "driver.h"

struct Worker {
  CUfunction kernel = nullptr;
  CUstream stream = nullptr;

  Worker(CUcontext context, const char* name) {
    CUmodule module = nullptr;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, "target"));
    CHECK(cuModuleGetFunction(&kernel, module, name));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
};

int main() {
  CUcontext context = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  const auto work = [&] {
    const Worker worker(context, "fill");
    LAUNCH(worker.kernel, worker.stream);
    CHECK(cuStreamSynchronize(worker.stream));
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  const Worker last(context, "scale");
  LAUNCH(last.kernel, last.stream);         // TRUE LINE
  CHECK(cuStreamSynchronize(last.stream));  // REPORTED LINE
}
