// Main ends the program while a thread waits for a kernel that takes longer than the end does. The runtime is linked in:
// a call into it after its destructor crashes.
// Plan: hold kernel=lasts until=notify
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "driver.h"

extern "C" void sim_notify();

constexpr useconds_t kKernelTime = 300'000, kDestructorTime = 50'000;  // us

struct Runtime {
  std::atomic<bool> gone = false;
  ~Runtime() {
    gone = true;
    usleep(kDestructorTime);
  }
  void query(CUstream stream) {
    if (gone) raise(SIGSEGV);
    cuStreamQuery(stream);
  }
};
static Runtime runtime;
static std::atomic<bool> at_work;

static void work(const Driver& driver) {
  CHECK(cuCtxSetCurrent(driver.context));
  CUfunction kernel = driver.kernel("lasts");
  CUstream stream = driver.stream();
  LAUNCH(kernel, stream);
  at_work = true;
  cuStreamSynchronize(stream);
  for (;;) runtime.query(stream);
}

int main() {
  static Driver driver;
  std::thread(work, std::cref(driver)).detach();
  while (!at_work) std::this_thread::yield();
  std::thread([] { usleep(kKernelTime), sim_notify(); }).detach();
  std::printf("ends\n");
  return 3;
}
