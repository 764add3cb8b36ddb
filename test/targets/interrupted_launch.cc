// Signals arrive during a launch, and their handler asks the driver how much memory is left. Then a launch fails.
// Plan: fault kernel=scale nth=1 code=700
#include <signal.h>

#include "driver.h"

static volatile sig_atomic_t g_calls, g_answers;

static void ask(int) {
  std::size_t free = 0, total = 0;
  if (cuMemGetInfo(&free, &total) == CUDA_SUCCESS) g_answers = g_answers + 1;
}

// The simulated driver calls malloc() during the launch.
extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void* malloc(std::size_t bytes) {
  if (g_calls > 0) {
    g_calls = g_calls - 1;
    raise(SIGUSR1);
  }
  return __libc_malloc(bytes);
}

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUfunction fill = driver.kernel("fill"), scale = driver.kernel("scale");
  signal(SIGUSR1, ask);
  g_calls = 2;
  CHECK(LAUNCH(fill, stream));
  std::printf("asked %d times inside the launch\n", static_cast<int>(g_answers));
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < 2; ++i) CHECK(LAUNCH(fill, stream));
  LAUNCH(scale, stream);  // TRUE LINE
  LAUNCH(fill, stream);
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
}
