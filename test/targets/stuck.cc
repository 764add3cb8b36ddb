// Work that never finishes, and something that waits for it. The argument selects the case. The plan makes the kernels
// hang.
#include <csignal>
#include <cstring>

#include "driver.h"

// A separate function, because compilers merge code that two branches share, and the merged code has no line.
[[gnu::noinline]] static void wait_for_all() { CHECK(cuCtxSynchronize()); }

int main(int, char** argv) {
  const auto shape = [&](const char* name) { return std::strcmp(argv[1], name) == 0; };
  Driver driver;
  CUfunction spin = driver.kernel("_Z4spinPiy");
  CUfunction scale = driver.kernel("scale");
  CUstream first = driver.stream();
  CUstream second = driver.stream();
  CUdeviceptr memory = driver.allocate(4096);
  CHECK(LAUNCH(scale, first));
  CHECK(LAUNCH(scale, second));
  if (shape("kernel")) {
    CHECK(LAUNCH(spin, first));  // TRUE LINE kernel
    CHECK(LAUNCH(scale, first));
    CHECK(cuStreamSynchronize(first));  // WAITS kernel
  } else if (shape("stopped")) {
    CHECK(LAUNCH(spin, first));
    std::raise(SIGSTOP);
    wait_for_all();
  } else if (shape("value")) {
    CHECK(cuStreamWaitValue32(first, memory, 7, CU_STREAM_WAIT_VALUE_EQ));  // TRUE LINE value
    CHECK(LAUNCH(scale, first));
    CHECK(cuCtxSynchronize());  // WAITS value
  } else if (shape("other_stream")) {
    CUevent event = nullptr;
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(LAUNCH(spin, first));  // TRUE LINE other_stream
    CHECK(cuEventRecord(event, first));
    CHECK(cuStreamWaitEvent(second, event, 0));  // EVENT other_stream
    CHECK(LAUNCH(scale, second));
    CHECK(cuStreamSynchronize(second));  // WAITS other_stream
  } else if (shape("copy")) {
    int number = 0;
    CHECK(LAUNCH(spin, nullptr));                         // TRUE LINE copy
    CHECK(cuMemcpyDtoH(&number, memory, sizeof number));  // WAITS copy
  } else if (shape("idle")) {
    for (int i = 0; i < 21; ++i) CHECK(LAUNCH(scale, first));
    std::puts("ready");
    std::fflush(stdout);
    std::getchar();
    wait_for_all();
  }
  std::puts("done");
}
