// A forked child tries to launch and exits normally. The parent continues.
// Plan: fault kernel=scale nth=2 code=700
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, nullptr);
  CHECK(cuCtxSynchronize());
  if (fork() == 0) return LAUNCH(scale, nullptr) == CUDA_SUCCESS ? 1 : 0;
  int status = -1;
  wait(&status);
  std::printf("child: %d\n", status);
  LAUNCH(scale, nullptr);     // TRUE LINE
  CHECK(cuCtxSynchronize());  // REPORTED LINE
}
