// Replaces parts of libc and the C++ library, because the recorder is a guest in the program. Locks do not throw.
// Clocks, ids and memory need no unusual system call. Reads of the program's memory are checked.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "wire/clock.h"

namespace cudadiag::record {

// std::mutex is not used because it can throw, and exceptions need half of the C++ runtime.
class Mutex {
 public:
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class LockGuard {
 public:
  explicit LockGuard(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~LockGuard() { mutex_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Mutex& mutex_;
};

// The clocks that the recorder uses for time stamps.
using wire::nanoseconds;
using wire::ticks;

// Returns the kernel's id of the calling thread, without a system call: a seccomp filter may kill a program that calls
// gettid. Computes it from the id of the thread's CPU clock, which the kernel defines as ~thread_id << 3 | 6.
inline std::uint32_t thread_id() {
  clockid_t clock = 0;
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0) return static_cast<std::uint32_t>(~(clock >> 3));
  return static_cast<std::uint32_t>(syscall(SYS_gettid));
}

// Disables thread cancellation during the recorder's own calls, such as open, read, write and nanosleep. These calls
// are cancellation points. The program expects cancellation only in its own calls.
class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// Memory for objects that are too large for the stack of the program's thread, which may be as small as 16 KB. A
// Scratch owns fresh pages until the end of its scope. Do not use it on the launch path, because it makes system calls.
template <typename T>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T>, "no constructor or destructor runs: the memory starts as zeros");

 public:
  Scratch() : memory_(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Scratch() {
    if (*this) munmap(memory_, sizeof(T));
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Returns false if there was not enough memory.
  explicit operator bool() const { return memory_ != MAP_FAILED; }
  T& operator*() const { return *static_cast<T*>(memory_); }
  T* operator->() const { return static_cast<T*>(memory_); }

 private:
  void* memory_;
};

// Returns whether a word of the program's memory can be read: the program may have unmapped it. Passes an invalid `how`
// to rt_sigprocmask, because the kernel reads the word before it rejects this argument. Changes errno.
inline bool is_readable(std::uintptr_t word) {
  return syscall(SYS_rt_sigprocmask, -1, word, nullptr, sizeof(std::uint64_t)) != 0 && errno != EFAULT;
}

// Calls `visit` with each name in the folder. Does not use readdir(), because opendir() allocates memory.
template <typename Visit>
void each_name(int folder, Visit visit) {
  constexpr std::size_t kName = 19;  // struct linux_dirent64: inode, offset, size of the entry, type, name
  constexpr std::size_t kSize = 16;
  alignas(8) char entries[2048];
  for (;;) {
    const long size = syscall(SYS_getdents64, folder, entries, sizeof entries);
    if (size <= 0) return;
    std::uint16_t length = 0;
    for (long at = 0; at < size; at += length) {
      memcpy(&length, entries + at + kSize, sizeof length);
      visit(entries + at + kName);
    }
  }
}

// Returns the decimal number at the beginning of `text`; 0 if there is none, or if it is too large. New glibc headers
// redirect libc's strtoul() and atoi() to versions that only glibc 2.38 and later provide. With them, the recorder
// could not be loaded on an older system.
inline long leading_number(std::string_view text) {
  long number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace cudadiag::record
