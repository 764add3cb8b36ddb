// Memory for objects that are too large for the stack of the program's thread, which may be as small as 16 KB. A
// Scratch owns fresh pages until the end of its scope. Do not use it on the launch path, because it makes system calls.
#pragma once

#include <sys/mman.h>

#include <type_traits>

namespace cudadiag::record {

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

}  // namespace cudadiag::record
