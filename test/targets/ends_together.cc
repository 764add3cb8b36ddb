// Several threads exit the program at the same moment. With "failed", they exit once all have seen the context's error.
// Otherwise, no call checks for the error.
// Plan: fault kernel=scale nth=1 code=700
#include <pthread.h>

#include <string>
#include <thread>
#include <vector>

#include "driver.h"

constexpr int kThreads = 8;
static pthread_barrier_t gate;

static void serve(const Driver& driver, bool fails) {
  CHECK(cuCtxSetCurrent(driver.context));
  CUstream stream = driver.stream();
  CUfunction scale = driver.kernel(fails ? "scale" : "fill");
  pthread_barrier_wait(&gate);
  LAUNCH(scale, stream);  // TRUE LINE
  if (cuStreamSynchronize(stream) == CUDA_SUCCESS && fails) return;
  pthread_barrier_wait(&gate);
  std::exit(3);
}

int main(int, char** argv) {
  std::printf("%s\n", argv[1]);
  const bool fails = std::string(argv[1]) == "failed";
  Driver driver;
  pthread_barrier_init(&gate, nullptr, kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(serve, std::cref(driver), fails);
  for (std::thread& thread : threads) thread.join();
}
