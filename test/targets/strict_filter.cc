// Once CUDA is initialised, a seccomp filter kills the process at any system call except those that the program itself
// makes.
// Plan: fault kernel=scale nth=3 code=700
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <vector>

#include "driver.h"

// The driver starts a thread at the first launch.
constexpr unsigned int kAllowed[] = {
    SYS_write, SYS_newfstatat,      SYS_futex,       SYS_clock_gettime, SYS_exit_group,
    SYS_mmap,  SYS_mprotect,        SYS_clone3,      SYS_rt_sigaction,  SYS_rt_sigprocmask,
    SYS_rseq,  SYS_set_robust_list, SYS_sched_yield, SYS_prctl,         SYS_madvise,
};

static void kill_for_others() {
  std::vector<sock_filter> steps = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const unsigned int call : kAllowed) {
    steps.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  const sock_fprog program = {static_cast<unsigned short>(steps.size()), steps.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return;
  std::puts("no filter");
  std::exit(77);
}

// Uses more stack than the kernel has mapped when the program starts.
[[gnu::noinline]] static void launch_deep_down(CUfunction kernel, CUstream stream) {
  char room[1 << 20];
  asm volatile("" : : "r"(room) : "memory");
  LAUNCH(kernel, stream);
  LAUNCH(kernel, stream);
  LAUNCH(kernel, stream);  // TRUE LINE
  LAUNCH(kernel, stream);
}

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUfunction scale = driver.kernel("scale");
  CUdeviceptr memory = driver.allocate(4096);
  kill_for_others();
  launch_deep_down(scale, stream);
  int value = 0;
  CHECK(cuMemcpyDtoH(&value, memory, sizeof value));  // REPORTED LINE
  return 3;
}
