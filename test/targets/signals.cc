// A timer keeps interrupting threads that launch, and its handler has a separate stack. Then a launch fails.
// Plan: fault kernel=scale nth=20001 code=700
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "driver.h"

static std::atomic<int> g_signals;

static void interrupt(int) {
  ++g_signals;
  errno = E2BIG;
}

static void work(const Driver& driver, CUfunction scale) {
  static constexpr std::size_t kStack = 64 << 10;
  std::vector<char> memory(kStack);
  const stack_t stack = {memory.data(), 0, kStack};
  sigaltstack(&stack, nullptr);
  CHECK(cuCtxSetCurrent(driver.context));
  CUstream mine = driver.stream();
  for (int i = 0; i < 5000; ++i) LAUNCH(scale, mine);
  CHECK(cuStreamSynchronize(mine));
  const stack_t none = {nullptr, SS_DISABLE, 0};
  sigaltstack(&none, nullptr);
}

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  struct sigaction action {};
  action.sa_handler = interrupt;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often = {{0, 100}, {0, 100}}, never = {};
  setitimer(ITIMER_REAL, &often, nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, std::cref(driver), scale);
  for (std::thread& thread : threads) thread.join();
  setitimer(ITIMER_REAL, &never, nullptr);
  if (g_signals == 0) std::puts("no signal came");
  LAUNCH(scale, nullptr);  // TRUE LINE
  LAUNCH(scale, nullptr);
  CHECK(cuCtxSynchronize());  // REPORTED LINE
}
