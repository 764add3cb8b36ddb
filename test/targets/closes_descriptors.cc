// Closes every descriptor, as daemons do, before CUDA is initialised and afterwards. Then a launch fails.
// Plan: fault kernel=scale nth=3 code=700
#include <fcntl.h>
#include <unistd.h>

#include "driver.h"

static void close_all() {
  for (int fd = 0; fd < 1024; ++fd) close(fd);
}

int main() {
  close_all();
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, nullptr);
  close_all();
  LAUNCH(scale, nullptr);
  LAUNCH(scale, nullptr);                                           // TRUE LINE
  return cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS ? 3 : 0;  // REPORTED LINE
}
