// Reports a wrapped call to the recorder, before and after the wrapped function runs, as CUPTI would.
#pragma once

#include <cuda.h>
#include <cupti_callbacks.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "record/this_thread.h"

namespace cudadiag::record {

class Passage {
 public:
  static constexpr std::uint32_t kMostCalls = 1024;

  // Returns false if the call is not watched, or comes from the recorder itself.
  static bool is_watched(CUpti_CallbackDomain domain, std::uint32_t call) {
    return place(domain, call).load(std::memory_order_acquire) && !t_this.inside;
  }
  // Stores with release order, so that a thread that sees this value also sees the names and the hooks.
  static void watch(CUpti_CallbackDomain domain, std::uint32_t call) {
    place(domain, call).store(true, std::memory_order_release);
  }
  // Returns a name such as "cuLaunchKernel". All names are set before any call is watched.
  static const char* name_of(CUpti_CallbackDomain domain, std::uint32_t call) {
    return call < kMostCalls ? names_[index(domain)][call] : nullptr;
  }
  static void name(CUpti_CallbackDomain domain, std::uint32_t call, const char* name) {
    names_[index(domain)][call] = name;
  }

  // Reports ENTER. `parameters` points to CUPTI's structure for the call.
  [[gnu::hot, gnu::noinline]] Passage(CUpti_CallbackDomain domain, std::uint32_t call, const void* parameters);
  // Returns true if the wrapper must not call the driver. A second call returns false. Only reruns withhold calls.
  static bool is_withheld() { return std::exchange(t_this.withheld, false); }
  // Reports EXIT. `result` is what the program receives: a CUresult or a cudaError_t.
  [[gnu::hot, gnu::noinline]] std::uint32_t leave(std::uint32_t result);
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

 private:
  static std::atomic<bool>& place(CUpti_CallbackDomain domain, std::uint32_t call) {
    return watched_[index(domain)][call];
  }
  static std::size_t index(CUpti_CallbackDomain domain) { return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? 1 : 0; }

  inline static constinit std::array<std::array<std::atomic<bool>, kMostCalls>, 2> watched_{};
  inline static constinit std::array<std::array<const char*, kMostCalls>, 2> names_{};

  CUpti_CallbackDomain domain_;
  std::uint32_t call_;
  std::uint32_t result_ = 0;
  bool told_;  // whether the ENTER was reported
  CUpti_CallbackData data_;
};

}  // namespace cudadiag::record
