// Ends in one of many ways while other threads launch, or wait for a kernel that keeps running.
// Plan: hang kernel=lasts
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <exception>
#include <string_view>
#include <thread>

#include "driver.h"
static std::atomic<int> at_work;  // how many threads work; a thread that starts too late would find no context

static void work(const Driver& driver, const char* name) {
  CHECK(cuCtxSetCurrent(driver.context));
  CUfunction kernel = driver.kernel(name);
  CUstream stream = driver.stream();
  for (int begun = 1;; begun = 0) {
    for (int n = 0; n < 8; ++n) LAUNCH(kernel, stream);
    at_work += begun;
    cuStreamSynchronize(stream);
  }
}

int main(int, char** argv) {
  Driver driver;
  std::thread first(work, std::cref(driver), argv[2]);
  const pthread_t worker = first.native_handle();
  first.detach();
  for (int i = 0; i < 2; ++i) std::thread(work, std::cref(driver), argv[2]).detach();
  const std::string_view way = argv[1];
  while (at_work < 3) std::this_thread::yield();
  std::printf("%s\n", argv[1]);
  if (way == "exit") std::exit(3);
  std::fflush(stdout);
  if (way == "_exit") _exit(4);
  if (way == "quick_exit") std::quick_exit(5);
  if (way == "abort") std::abort();
  if (way == "terminate") std::terminate();
  if (way == "pthread_exit") std::thread([] { std::exit(6); }).detach(), pthread_exit(nullptr);
  std::signal(SIGUSR1, [](int) { std::exit(7); });
  way == "handler" ? pthread_kill(worker, SIGUSR1) : raise(SIGTERM);
  pause();
}
