// Issues the number of launches in the first argument, a million by default. With the plan, the last one fails.
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
