// More threads launch than the recorder has room for, each with the smallest stack that the system allows. Then a
// launch fails.
// Plan: fault kernel=scale nth=4001 code=700
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include <vector>

#include "driver.h"

struct Work {
  const Driver* driver;
  CUfunction kernel;
  pthread_barrier_t* all_here;
};

static void* work(void* raw) {
  const Work& mine = *static_cast<Work*>(raw);
  CHECK(cuCtxSetCurrent(mine.driver->context));
  for (int i = 0; i < 20; ++i) LAUNCH(mine.kernel, nullptr);
  pthread_barrier_wait(mine.all_here);
  return nullptr;
}

int main() {
  constexpr int kThreads = 200;
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  pthread_barrier_t all_here;
  pthread_barrier_init(&all_here, nullptr, kThreads);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN)));
  Work mine = {&driver, scale, &all_here};
  std::vector<pthread_t> threads(kThreads);
  for (pthread_t& thread : threads) {
    if (pthread_create(&thread, &attributes, work, &mine) != 0) std::abort();
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  LAUNCH(scale, nullptr);  // TRUE LINE
  LAUNCH(scale, nullptr);
  CHECK(cuCtxSynchronize());  // REPORTED LINE
}
