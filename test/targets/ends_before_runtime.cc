// main() returns while a thread waits for a kernel. The kernel finishes only once the exiting thread sleeps. The
// runtime is linked in, and crashes if it is called after its destructor has run.
// Plan: hold kernel=lasts until=notify
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "driver.h"

extern "C" void sim_notify();

static std::atomic<bool> kernel_ended;
static std::atomic<pid_t> at_work;  // the thread that waits

struct Runtime {
  std::atomic<bool> gone = false;
  ~Runtime() {
    gone = true;
    while (kernel_ended) pause();  // lets the thread that waited for the kernel run
  }
  void query(CUstream stream) {
    if (gone) raise(SIGSEGV);
    cuStreamQuery(stream);
  }
};
static Runtime runtime;

static void work(const Driver& driver) {
  CHECK(cuCtxSetCurrent(driver.context));
  CUfunction kernel = driver.kernel("lasts");
  CUstream stream = driver.stream();
  LAUNCH(kernel, stream);
  at_work = gettid();
  cuStreamSynchronize(stream);
  for (;;) runtime.query(stream);
}

static bool is_in(long call, pid_t thread) {
  long found = -1;
  std::ifstream("/proc/self/task/" + std::to_string(thread) + "/syscall") >> found;
  return found == call;
}

int main() {
  static Driver driver;
  std::thread(work, std::cref(driver)).detach();
  while (at_work == 0 || !is_in(SYS_futex, at_work)) std::this_thread::yield();
  std::thread([] {
    while (!is_in(SYS_clock_nanosleep, getpid())) std::this_thread::yield();
    kernel_ended = true;
    sim_notify();
  }).detach();
  std::printf("ends\n");
  return 3;
}
