// As many streams exist as the recorder has room for. One is destroyed while it has work; a new stream is used before
// and after that work has finished. Then one of the new stream's launches fails.
// Plan: fault kernel=scale nth=1 code=700
#include <semaphore>
#include <vector>

#include "driver.h"

int main() {
  Driver driver;
  CUfunction fill = driver.kernel("fill");
  std::vector<CUstream> streams;
  for (int i = 0; i < 4096; ++i) streams.push_back(driver.stream());
  for (CUstream stream : streams) CHECK(LAUNCH(fill, stream));
  CHECK(cuCtxSynchronize());
  std::binary_semaphore go_on(0);
  const auto wait = [](void* until) { static_cast<std::binary_semaphore*>(until)->acquire(); };
  CHECK(cuLaunchHostFunc(streams[0], wait, &go_on));
  CHECK(cuStreamDestroy(streams[0]));
  CUstream late = driver.stream();
  CHECK(LAUNCH(fill, late));
  go_on.release();
  for (int i = 0; i < 2; ++i) {
    CHECK(LAUNCH(fill, streams[1]));
    CHECK(cuCtxSynchronize());
  }
  for (int i = 0; i < 3; ++i) CHECK(LAUNCH(fill, late));
  LAUNCH(driver.kernel("scale"), late);  // TRUE LINE
  CHECK(cuStreamSynchronize(late));      // REPORTED LINE
}
