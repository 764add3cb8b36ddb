// Which CUDA runtimes the process has, and whether their launches need callbacks. Runtimes 11.3 to 12 reject some
// launches themselves (error 9 for a block with too many threads), and only the runtime's callback reports these
// errors. Later runtimes pass these launches on to the driver, and the driver's callback reports the error. A runtime
// callback would add half of the driver callback's cost, so it stays off for these runtimes.
//
// Runtimes 13 and later reject only launches that lack a context or a kernel. Usually, the cause is an earlier driver
// call that failed, which the recorder has seen. If the kernel is a null pointer, the recorder sees no failure.
// Measured with 12.8 and 13.0.
//
// A process may have several runtimes, one in each of its libraries, and they may start at any time. A runtime looks up
// more than 400 driver functions, and then calls cuInit. The newest version that it requests is its own version.
// Runtimes before 11.3 do not look up functions this way, so they are missed if they start late. A runtime is also
// missed if it starts during another thread's first cuInit.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "record/stacks/symbols.h"

namespace cudadiag::record {

class Runtimes {
 public:
  // Called inside the first cuInit. The recorder has not seen what the caller looked up, so it walks the stack to
  // identify the caller. Two kinds of callers need no launch callbacks: libcudart.so.13 or later, and an executable
  // whose symbol table shows only such a runtime (nvcc's default). Other callers may contain any runtime.
  void meet_first();
  // Returns true if all runtimes found so far pass all their launches on to the driver.
  bool hand_launches_on() const { return hand_launches_on_.load(std::memory_order_relaxed); }

  // Calls `visit` with the path of each module with a runtime that hooks cannot redirect: a module that belongs to the
  // user's code and has a runtime linked into it, or a libcudart.so of an unknown version. Does not read a module again
  // unless `visit` returned false for it. Returns whether any of the modules, read before or not, calls a shared
  // runtime. With hooks, errors that this runtime keeps to itself can be missed if the program does not check them. If
  // `looks_for_callers` is false, returns false.
  static bool each_unseen(bool (*visit)(const char* path, void* data), void* data, bool looks_for_callers = false);

  // looked_up() is called for each cuGetProcAddress and initialised() for each cuInit, on the calling thread, to
  // recognise runtimes as they start. initialised() returns true if a runtime starts.
  static void looked_up(std::string_view function, int version);
  bool initialised();
  // Called when a driver call has failed. `launches` is true for a launch, and false for other calls, such as a kernel
  // look-up. Returns the name of the runtime launch that made the driver call, if that launch has no callback, and
  // otherwise null. Walks the stack.
  const char* failed(std::string_view driver_call, bool launches);

  // Runtime launches that are too frequent for a callback.
  struct LeftOut {
    CUpti_CallbackId id;
    const char* function;
  };
  static constexpr LeftOut kLeftOut[] = {
      {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel"},
      {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000, "cudaLaunchKernel_ptsz"},
  };

 private:
  void remember_linked_in();
  bool is_linked_in(std::uintptr_t module) const;
  bool knows_executable() const { return linked_launches_.front().end != 0; }

  const char* launch_around(bool launches) const;

  std::array<CodeRange, std::size(kLeftOut)>
      linked_launches_{};  // code of the kLeftOut functions in the executable; empty if unknown
  std::atomic<bool> hand_launches_on_ = false;
  std::atomic<std::uint32_t> walks_ = 0;
  // Start addresses of the libraries that have a runtime linked into them.
  std::array<std::atomic<std::uintptr_t>, 16> linked_in_ = {};
};

}  // namespace cudadiag::record
