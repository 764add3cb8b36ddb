// Which CUDA runtimes the process has, as far as launches matter. Runtimes 11.3 to 12 refuse some launches themselves
// (a block of too many threads: 9), and only their own callback reports that. Later runtimes pass launches to the
// driver, and its callback reports as much. The runtime's callback would cost half as much again, so it is left out.
// Later runtimes refuse only launches that lack a kernel or context. Either the driver has refused one before, which is
// seen, or the kernel is a null pointer, which is not. Measured with 12.8 and 13.0. A runtime before 11.3 that starts
// later does not look functions up this way, and is not seen.
//
// A process may have several runtimes, one in each of its libraries, and they may start at any time. A runtime looks up
// more than 400 driver functions, and then calls cuInit. The newest version that it requests is its own. A runtime that
// does this while another thread is in the process's first cuInit is not seen.
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
  // Called inside the first cuInit. The caller made all its look-ups before anybody could see them. Two kinds of
  // callers pass launches on: a libcudart.so.13 or later, and an executable that contains only such a runtime
  // (nvcc's default). Its symbol table's names show that. Other callers may contain any runtime. Walks the
  // stack.
  void meet_first();
  // Whether all runtimes found so far pass all launches on, as far as is known.
  bool hand_launches_on() const { return hand_launches_on_.load(std::memory_order_relaxed); }

  // Called by the calling thread for cuGetProcAddress, and for cuInit, whose caller may be a runtime.
  static void looked_up(std::string_view function, int version);
  void initialised();
  // A driver call failed: a launch (`launches`), or a look-up for one. Returns the name of the unwatched launch around
  // it, or null if none is known. Walks the stack.
  const char* failed(std::string_view driver_call, bool launches);

  // The launches that are not watched, because they are frequent.
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

  std::array<CodeRange, std::size(kLeftOut)> linked_launches_{};  // kLeftOut in the executable; empty if unknown
  std::atomic<bool> hand_launches_on_ = false;
  std::atomic<std::uint32_t> walks_ = 0;
  // The start addresses of libraries with a runtime linked into them.
  std::array<std::atomic<std::uintptr_t>, 16> linked_in_ = {};
};

}  // namespace cudadiag::record
