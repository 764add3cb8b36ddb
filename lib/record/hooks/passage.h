// One call of the program on its way through a wrapper: tells the recorder of it before and after, as CUPTI would.
#pragma once

#include <cuda.h>
#include <cupti_callbacks.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "record/this_thread.h"

namespace cudadiag::record {

class Passage {
 public:
  static constexpr std::uint32_t kMostCalls = 1024;

  // False: the call is nobody's concern, or one of our own.
  static bool is_watched(std::uint32_t call) {
    return watched_[call].load(std::memory_order_relaxed) && !t_this.inside;
  }
  static void watch(std::uint32_t call) { watched_[call].store(true, std::memory_order_relaxed); }

  // ENTER. `parameters` are CUPTI's structure of the call.
  [[gnu::hot, gnu::noinline]] Passage(std::uint32_t call, const char* name, const void* parameters);
  // EXIT. Returns what the program is to get.
  [[gnu::hot, gnu::noinline]] CUresult leave(CUresult result);
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

 private:
  inline static constinit std::array<std::atomic<bool>, kMostCalls> watched_{};

  bool told_;  // of the ENTER
  CUpti_CallbackData data_;
  std::uint32_t call_;
  CUresult result_;
};

}  // namespace cudadiag::record
