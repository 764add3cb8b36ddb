// Issues as many launches as its first argument says, by default a million. With the plan, the millionth launch fails.
// Plan: fault kernel=fill nth=1000000 code=700
#include "driver.h"

int main(int argc, char** argv) {
  Driver driver;
  CUfunction fill = driver.kernel("fill");
  CUstream stream = driver.stream();
  const int launches = argc > 1 ? std::atoi(argv[1]) : 1000000;
  for (int i = 0; i < launches; ++i) {
    LAUNCH(fill, stream);  // TRUE LINE
  }
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
  std::puts("done");
}
