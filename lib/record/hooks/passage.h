// One call of the program on its way through a wrapper: calls the recorder before and after it, as CUPTI would.
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

  // False: the call is not watched, or is one of our own.
  static bool is_watched(CUpti_CallbackDomain domain, std::uint32_t call) {
    return place(domain, call).load(std::memory_order_acquire) && !t_this.inside;
  }
  // Releases what a passage needs: names, and the hooks.
  static void watch(CUpti_CallbackDomain domain, std::uint32_t call) {
    place(domain, call).store(true, std::memory_order_release);
  }
  // "cuLaunchKernel"; null: no wrapper has such a call. Names come before any call is watched.
  static const char* name_of(CUpti_CallbackDomain domain, std::uint32_t call) {
    return call < kMostCalls ? names_[index(domain)][call] : nullptr;
  }
  static void name(CUpti_CallbackDomain domain, std::uint32_t call, const char* name) {
    names_[index(domain)][call] = name;
  }

  // ENTER. `parameters` are CUPTI's structure of the call.
  [[gnu::hot, gnu::noinline]] Passage(CUpti_CallbackDomain domain, std::uint32_t call, const void* parameters);
  // Whether the recorder wants the call not to be made, as only a rerun does.
  static bool is_withheld() { return std::exchange(t_this.withheld, false); }
  // EXIT. `result`, a CUresult or a cudaError_t, is what the program gets.
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
  bool told_;  // of the ENTER
  CUpti_CallbackData data_;
};

}  // namespace cudadiag::record
