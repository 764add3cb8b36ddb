// The kernel's number of the calling thread, without a system call: a program's filter (seccomp) may kill for gettid.
#pragma once

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace cudadiag::record {

// libc keeps the number, and hands it out in the name of the thread's CPU clock, which is the kernel's own:
// ~number << 3 | 6.
inline std::uint32_t thread_id() {
  clockid_t clock = 0;
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0) return static_cast<std::uint32_t>(~(clock >> 3));
  return static_cast<std::uint32_t>(syscall(SYS_gettid));
}

}  // namespace cudadiag::record
