// One thread launches alternately from two stacks, as coroutines and tasks do.
// Plan: fault kernel=scale nth=1500 code=700
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "driver.h"

static std::atomic<int> maps_read = 0;

// Counts how many times the process's memory map is opened.
extern "C" int open(const char* path, int flags, ...) {
  if (std::strcmp(path, "/proc/self/maps") == 0) ++maps_read;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, 0600));
}

static ucontext_t program, coroutines[2];
static CUfunction fill, scale;
static CUstream stream;

static void fills() {
  while (true) {
    CHECK(LAUNCH(fill, stream));
    swapcontext(&coroutines[0], &program);
  }
}

static void scales() {
  while (true) {
    LAUNCH(scale, stream);  // TRUE LINE
    swapcontext(&coroutines[1], &program);
  }
}

static void prepare(ucontext_t& coroutine, void (*body)()) {
  const std::size_t bytes = 1 << 18;
  void* stack = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(stack, 4096, PROT_NONE);
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = static_cast<char*>(stack) + 4096;
  coroutine.uc_stack.ss_size = bytes - 4096;
  coroutine.uc_link = &program;
  makecontext(&coroutine, body, 0);
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
  fill = driver.kernel("fill");
  scale = driver.kernel("scale");
  prepare(coroutines[0], fills);
  prepare(coroutines[1], scales);
  run(100);
  const int before = maps_read;
  run(1000);
  std::printf("the memory map was read %s\n", maps_read - before < 100 ? "seldom" : "often");
  run(1000);
}
