// A thread is cancelled while it holds a lock, and the cancellation takes effect at its next cancellation point. Then a
// launch fails.
// Plan: fault kernel=scale nth=1 code=700
#include <pthread.h>

#include <atomic>

#include "driver.h"

static std::atomic<bool> g_ready, g_cancelled;
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

struct Work {
  const Driver* driver;
  CUfunction fill;
  CUstream stream;
  int launched = 0;
};

static void* work(void* argument) {
  auto& work = *static_cast<Work*>(argument);
  g_ready = true;
  while (!g_cancelled) sched_yield();
  pthread_mutex_lock(&g_mutex);
  if (cuCtxSetCurrent(work.driver->context) == CUDA_SUCCESS && LAUNCH(work.fill, work.stream) == CUDA_SUCCESS) {
    ++work.launched;
  }
  pthread_mutex_unlock(&g_mutex);
  pthread_testcancel();
  return nullptr;
}

int main() {
  Driver driver;
  Work given = {&driver, driver.kernel("fill"), driver.stream()};
  pthread_t thread;
  pthread_create(&thread, nullptr, work, &given);
  while (!g_ready) sched_yield();
  pthread_cancel(thread);
  g_cancelled = true;
  pthread_join(thread, nullptr);
  std::printf("launched %d\n", given.launched);
  if (pthread_mutex_trylock(&g_mutex) != 0) std::puts("still locked");
  LAUNCH(driver.kernel("scale"), given.stream);  // TRUE LINE
  CHECK(cuStreamSynchronize(given.stream));      // REPORTED LINE
}
