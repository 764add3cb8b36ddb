// Issues as many launches as its first argument says, and then kills itself, so that no exit handler runs.
#include <csignal>

#include "driver.h"

int main(int argc, char** argv) {
  Driver driver;
  CUfunction fill = driver.kernel("fill");
  const int launches = argc > 1 ? std::atoi(argv[1]) : 1000;
  for (int i = 0; i < launches; ++i) CHECK(LAUNCH(fill, nullptr));
  CHECK(cuCtxSynchronize());
  std::printf("launched %d\n", launches);
  std::fflush(stdout);
  std::raise(SIGKILL);
}
