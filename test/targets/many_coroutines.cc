// One thread launches from the stacks of many coroutines, one after another. Then a launch fails.
// Plan: fault kernel=scale nth=6500 code=700
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "driver.h"

static std::atomic<int> maps_read = 0;

// Counts how many times the process's memory map is opened.
extern "C" int open(const char* path, int flags, ...) {
  if (std::strcmp(path, "/proc/self/maps") == 0) ++maps_read;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, 0600));
}

static ucontext_t program;
static std::array<ucontext_t, 64> coroutines;
static CUfunction scale;
static CUstream stream;

static void launches(int self) {
  while (true) {
    LAUNCH(scale, stream);  // TRUE LINE
    swapcontext(&coroutines[self], &program);
  }
}

static void prepare(int which) {
  const std::size_t bytes = 1 << 16;
  void* stack = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(stack, 4096, PROT_NONE);
  ucontext_t& coroutine = coroutines[which];
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = static_cast<char*>(stack) + 4096;
  coroutine.uc_stack.ss_size = bytes - 4096;
  coroutine.uc_link = &program;
  makecontext(&coroutine, reinterpret_cast<void (*)()>(launches), 1, which);
}

static void run(int turns) {
  for (int i = 0; i < turns; ++i) {
    for (ucontext_t& coroutine : coroutines) {
      swapcontext(&program, &coroutine);
      CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
    }
  }
}

int main() {
  Driver driver;
  stream = driver.stream();
  scale = driver.kernel("scale");
  for (int i = 0; i < static_cast<int>(coroutines.size()); ++i) prepare(i);
  run(50);
  const int before = maps_read;
  run(50);
  std::printf("the memory map was read %s\n", maps_read - before < 1000 ? "seldom" : "often");
  run(50);
}
