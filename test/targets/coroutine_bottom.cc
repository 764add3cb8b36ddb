// A coroutine's first frame has an invalid return address. Some libraries create such frames, because the first frame
// never returns.
// Plan: fault kernel=scale nth=3 code=700
#include <ucontext.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "driver.h"

static ucontext_t program, coroutine;
static CUfunction scale;
static CUstream stream;

static void body() {
  while (true) {
    LAUNCH(scale, stream);  // TRUE LINE
    swapcontext(&coroutine, &program);
  }
}

static void never_return(ucontext_t& context, std::uint64_t where) {
#if defined(__x86_64__)
  *reinterpret_cast<std::uint64_t*>(context.uc_mcontext.gregs[REG_RSP]) = where;
#elif defined(__aarch64__)
  context.uc_mcontext.regs[30] = where;
#endif
}

int main(int argc, char** argv) {
  Driver driver;
  stream = driver.stream();
  scale = driver.kernel("scale");
  std::vector<char> stack(1 << 18);
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack.data();
  coroutine.uc_stack.ss_size = stack.size();
  makecontext(&coroutine, body, 0);
  never_return(coroutine, argc > 1 ? std::strtoull(argv[1], nullptr, 16) : 0xdeaddeaddeaddead);
  for (int i = 0; i < 10; ++i) swapcontext(&program, &coroutine);
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
}
