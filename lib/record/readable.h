// Checks whether a word of the program's memory can be read, because the program may have unmapped it.
#pragma once

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace cudadiag::record {

// Passes an invalid `how` to rt_sigprocmask: the kernel reads the word before it rejects this argument. Changes errno.
inline bool is_readable(std::uintptr_t word) {
  return syscall(SYS_rt_sigprocmask, -1, word, nullptr, sizeof(std::uint64_t)) != 0 && errno != EFAULT;
}

}  // namespace cudadiag::record
