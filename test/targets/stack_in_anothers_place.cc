// A coroutine's stack is mapped where an earlier stack was, but ends a page earlier. The stack of a third coroutine
// ends where the first stack did. All three launch at the same depth.
// Plan: fault kernel=scale nth=3 code=700
#include <alloca.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <initializer_list>

#include "driver.h"

constexpr std::size_t kPage = 65536, kBytes = 4 * kPage;
static ucontext_t program, coroutine;
static CUfunction scale;
static CUstream stream;
static std::uintptr_t launch_at;

[[gnu::noinline]] static void launch() {
  LAUNCH(scale, stream);  // TRUE LINE
  swapcontext(&coroutine, &program);
}

static void body() {
  auto* room = alloca(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - launch_at);
  asm volatile("" ::"r"(room) : "memory");
  launch();
}

int main() {
  Driver driver;
  stream = driver.stream();
  scale = driver.kernel("scale");
  auto* place = static_cast<char*>(mmap(nullptr, kBytes + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  launch_at = reinterpret_cast<std::uintptr_t>(place + kBytes - kPage - 2048);
  for (const std::size_t bytes : {kBytes, kBytes - kPage, kBytes}) {
    mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = place;
    coroutine.uc_stack.ss_size = bytes;
    coroutine.uc_link = &program;
    makecontext(&coroutine, body, 0);
    swapcontext(&program, &coroutine);
    mmap(place, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
}
