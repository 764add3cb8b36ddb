#include "own_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>

namespace cudadiag::command {
namespace {

constexpr std::size_t kUsual = 8 << 20;  // the stack limit on most systems, in bytes

// Global, because makecontext() can pass only integers to the function that it starts.
struct Work {
  int (*function)(int, char**);
  int argc;
  char** argv;
  int status;
};
Work the_work;

void do_the_work() { the_work.status = the_work.function(the_work.argc, the_work.argv); }

bool is_small() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kUsual;
}

void enlarge_stacks_of_threads() {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return;
  if (::pthread_attr_setstacksize(&attributes, kUsual) == 0) ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
}

// Maps a stack whose lowest page is a guard page. Returns null on failure.
std::byte* make_stack() {
  void* memory =
      ::mmap(nullptr, kUsual, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  ::mprotect(memory, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), PROT_NONE);
  return static_cast<std::byte*>(memory);
}

}  // namespace

int on_ample_stack(int (*work)(int, char**), int argc, char** argv) {
  std::byte* stack = is_small() ? make_stack() : nullptr;
  static ucontext_t here, there;  // static, because they need 1 kB each, which the small stack may not have
  if (stack == nullptr || ::getcontext(&there) != 0) return work(argc, argv);
  enlarge_stacks_of_threads();
  the_work = {work, argc, argv, 0};
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = kUsual;
  there.uc_link = &here;
  ::makecontext(&there, do_the_work, 0);
  if (::swapcontext(&here, &there) != 0) return work(argc, argv);
  return the_work.status;
}

}  // namespace cudadiag::command
