// The kernel's number of the calling thread, without a system call: a seccomp filter may kill a program for gettid.
#pragma once

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace cudadiag::record {

// libc stores the number, and reveals it in the id of the thread's CPU clock, which is the kernel's own: ~number << 3 |
// 6.
inline std::uint32_t thread_id() {
  clockid_t clock = 0;
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0) return static_cast<std::uint32_t>(~(clock >> 3));
  return static_cast<std::uint32_t>(syscall(SYS_gettid));
}

}  // namespace cudadiag::record
