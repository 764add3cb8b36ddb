// A stream or its context is destroyed while the stream is being captured. Then one of several launches fails.
// Plan: fault kernel=scale nth=1 code=700
#include <vector>

#include "driver.h"

static CUresult create_context(CUcontext& context) {
#if CUDA_VERSION >= 13000
  return cuCtxCreate(&context, nullptr, 0, 0);
#else
  return cuCtxCreate(&context, 0, 0);
#endif
}

static void capture(CUstream stream) { CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED)); }

int main(int argc, char**) {
  Driver driver;
  if (argc > 1) {
    CUcontext context = nullptr;
    CHECK(create_context(context));
    for (CUstream stream : std::vector{driver.stream(), driver.stream()}) capture(stream);
    CHECK(cuCtxDestroy(context));
    CHECK(cuCtxSetCurrent(driver.context));
  } else {
    CUstream stream = driver.stream();
    capture(stream);
    CHECK(LAUNCH(driver.kernel("fill"), stream));
    CHECK(cuStreamDestroy(stream));
  }
  CUstream stream = driver.stream();
  CUfunction fill = driver.kernel("fill");
  for (int i = 0; i < 3; ++i) CHECK(LAUNCH(fill, stream));
  LAUNCH(driver.kernel("scale"), stream);  // TRUE LINE
  CHECK(cuStreamSynchronize(stream));      // REPORTED LINE
}
