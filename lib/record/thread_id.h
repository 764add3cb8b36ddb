// Finds the kernel's id of the calling thread without a system call. A seccomp filter may kill a program that calls
// gettid.
#pragma once

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace cudadiag::record {

// Computes the id from the id of the thread's CPU clock, which needs no system call. The kernel defines the id of this
// clock as ~thread_id << 3 | 6.
inline std::uint32_t thread_id() {
  clockid_t clock = 0;
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0) return static_cast<std::uint32_t>(~(clock >> 3));
  return static_cast<std::uint32_t>(syscall(SYS_gettid));
}

}  // namespace cudadiag::record
