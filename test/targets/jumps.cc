// Exceptions and longjmp unwind frames, again and again, between and after calls that fail. Then a launch fails.
// Plan: fault kernel=scale nth=2001 code=700
#include <csetjmp>
#include <stdexcept>

#include "driver.h"

static std::jmp_buf g_back;

static void launch_and_throw(CUfunction kernel, int depth) {
  if (depth > 0) return launch_and_throw(kernel, depth - 1);
  LAUNCH(kernel, nullptr);
  CUdeviceptr none = 0;
  if (cuMemcpyDtoD(none, none, 4) != CUDA_SUCCESS) throw std::runtime_error("copy refused");
}

static void launch_and_jump(CUfunction kernel) {
  LAUNCH(kernel, nullptr);
  std::longjmp(g_back, 1);
}

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  static int caught = 0;
  static int i;
  for (i = 0; i < 1000; ++i) {
    try {
      launch_and_throw(scale, i % 50);
    } catch (const std::exception&) {
      ++caught;
    }
    if (setjmp(g_back) == 0) launch_and_jump(scale);
  }
  std::printf("caught %d\n", caught);
  LAUNCH(scale, nullptr);  // TRUE LINE
  LAUNCH(scale, nullptr);
  CHECK(cuCtxSynchronize());  // REPORTED LINE
}
