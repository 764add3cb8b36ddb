// Which CUDA runtimes the process has, as far as launches go. Those of 11.3 to 12 refuse some by themselves (a block of
// too many threads: 9), and only a callback of their own tells of that. Later ones hand launches to the driver, whose
// callback tells as much; the runtime's, which would cost half as much again, is then left out. They keep to themselves
// only what has no kernel or context to be launched with: after the driver has refused one, which is seen, and by a
// null pointer for a kernel, which is not. Measured with 12.8 and 13.0. A runtime before 11.3 that comes later does not
// look functions up this way, and is not seen.
//
// A process may have several, one in each of its libraries, and they come at any time. A runtime looks up what it needs
// of the driver, more than 400 functions, and calls cuInit after that: the newest version that it asks for is its own.
// One that does this while another thread is in the process's first cuInit is not seen.
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
  // Inside the first cuInit, whose caller has looked everything up before anybody could see it. Known to hand launches
  // on if it is a libcudart.so.13 or later, or the program's executable, into which such a one is linked (nvcc's
  // default) and no other, by the names in its symbol table; otherwise any may be linked into whoever calls. Walks the
  // stack.
  void meet_first();
  // All that have been met hand on all launches, as far as is known.
  bool hand_launches_on() const { return hand_launches_on_.load(std::memory_order_relaxed); }

  // By the calling thread: cuGetProcAddress, and cuInit, whose caller may be a runtime.
  static void looked_up(std::string_view function, int version);
  void initialised();
  // A driver call failed: a launch (`launches`), or a look-up for one. Returns the name of the unwatched launch around
  // it; null: no such launch is known. Walks the stack.
  const char* failed(std::string_view driver_call, bool launches);

  // The launches that are not watched: the frequent ones.
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

  std::array<CodeRange, std::size(kLeftOut)> linked_launches_{};  // kLeftOut in the executable; empty: not known
  std::atomic<bool> hand_launches_on_ = false;
  std::atomic<std::uint32_t> walks_ = 0;
  // Where libraries begin that have one of their own.
  std::array<std::atomic<std::uintptr_t>, 16> linked_in_ = {};
};

}  // namespace cudadiag::record
