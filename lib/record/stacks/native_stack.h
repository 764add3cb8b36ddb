// Identifies the native stack of the calling thread by an intern id. Recognises a known stack by its shape
// (stack_shapes.h), and unwinds any other stack. A stack ends where a Python interpreter begins.
#pragma once

#include <atomic>
#include <cstdint>

#include "record/operations/threads.h"
#include "record/output/interner.h"
#include "record/stacks/modules.h"
#include "record/stacks/unwinder.h"

namespace cudadiag::record {

class NativeStacks {
 public:
  // `unloads` counts how many times code was unloaded. After an unload, a different library may be at the same
  // addresses.
  void start(Interner& interner, std::atomic<std::uint64_t>& unloads);
  // Call this in a child of fork() instead of start(). Skips the steps that take the dynamic loader's lock, because the
  // child inherits their results.
  void attach(Interner& interner, std::atomic<std::uint64_t>& unloads);
  // If Python code is on a stack, the stack ends before the innermost native frame of this module.
  void stop_at(std::uintptr_t begin, std::uintptr_t end);

  // The data with which still_matches() recognises a stack.
  struct Recognition {
    const StackShape* shape;
    std::uint64_t addresses;  // a sum of the return addresses
    std::uint8_t opened;      // a library in the stack (modules.h); 0 if none
  };
  // Returns the current stack's id, or 0 if the stack is unknown. `stack_pointer` is the frame address of the
  // recorder's callback. `salt` distinguishes calls at the same depth (callback id, kernel). `python` is true if Python
  // code is on the stack. `closes` is true if the program may close libraries.
  std::uint32_t current(ThreadState& thread, std::uintptr_t stack_pointer, std::uint64_t salt, bool python, bool closes,
                        Recognition& recognition);
  // Returns true if the current stack is the same as that of the entry's site.
  [[gnu::hot]] bool still_matches(const SiteCache::Entry& entry, ThreadState& thread, std::uintptr_t stack_pointer);

 private:
  // Returns true if the library has been unloaded. The unload is then counted in `unloads_`.
  [[gnu::noinline]] bool has_gone(std::uint8_t opened);
  std::uint32_t unloads() const { return static_cast<std::uint32_t>(unloads_->load(std::memory_order_relaxed)); }
  std::uint32_t unwind(std::uintptr_t stack_pointer, StackShape& learn, std::uint64_t key, bool python,
                       Recognition& recognition);
  std::uint32_t intern(std::span<const UnwoundFrame> frames, std::uint64_t addresses, bool truncated);
  std::uint32_t intern_module(const LoadedModule& module);

  Interner* interner_ = nullptr;
  std::atomic<std::uint64_t>* unloads_ = nullptr;
  std::uintptr_t stop_begin_ = 0, stop_end_ = 0;
  OpenedModules opened_;
};

}  // namespace cudadiag::record
