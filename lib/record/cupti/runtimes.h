// Which CUDA runtimes the process has, and whether their launches need callbacks. Runtimes 11.3 to 12 reject some
// launches themselves (error 9 for a block of too many threads), and only their own callback reports that. Later
// runtimes pass launches on to the driver, whose callback reports the same. The runtime's callback would cost half as
// much again, so it stays off.
//
// Later runtimes reject only launches that lack a context or a kernel. Usually, the driver call that should have
// provided it has failed, and the recorder sees that call. If the kernel is a null pointer, the recorder sees nothing.
// Measured with 12.8 and 13.0.
//
// A process may have several runtimes, one in each of its libraries, and they may start at any time. A runtime looks up
// more than 400 driver functions, and then calls cuInit. The newest version that it requests is its own version. Two
// kinds of runtimes are missed. Runtimes before 11.3 that start late do not look functions up this way. Others may
// start while another thread is in the process's first cuInit.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "record/stacks/executable_symbols.h"

namespace cudadiag::record {

class Runtimes {
 public:
  // Called inside the first cuInit, because the recorder did not see its caller's look-ups. Two kinds of callers pass
  // launches on: a libcudart.so.13 or later, and an executable that contains only such a runtime (nvcc's default), as
  // its symbol table shows. Any other caller may contain any runtime. Walks the stack.
  void meet_first();
  // Whether all runtimes found so far pass all their launches on, as far as we know.
  bool hand_launches_on() const { return hand_launches_on_.load(std::memory_order_relaxed); }

  // looked_up() is called for each cuGetProcAddress and initialised() for each cuInit, on the calling thread, to
  // recognise runtimes as they start.
  static void looked_up(std::string_view function, int version);
  void initialised();
  // Called when a driver call has failed: a launch (`launches`), or a look-up that a launch needs. Returns the name of
  // the runtime launch around it that has no callback, or null if none is known. Walks the stack.
  const char* failed(std::string_view driver_call, bool launches);

  // The frequent launches that get no callback.
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
