// The function that replaces one entry point. It reports the call before and after it (passage.h), and calls the
// library's own function in between.
#pragma once

#include <cstdint>

#include "record/hooks/entry_points.h"
#include "record/hooks/passage.h"

namespace cudadiag::record {

// Replaces the parameter structure of a call for which CUPTI has none.
struct NoParameters {};

// Only this wrapper checks whether to suppress its call.
template <CUpti_CallbackDomain kDomain, std::uint32_t kCall>
constexpr bool kMayBeWithheld = kDomain == CUPTI_CB_DOMAIN_DRIVER_API&& kCall == CUPTI_DRIVER_TRACE_CBID_cuGraphDestroy;

template <CUpti_CallbackDomain kDomain, std::uint32_t kCall, typename Parameters, typename Function>
struct Wrapper;

template <CUpti_CallbackDomain kDomain, std::uint32_t kCall, typename Parameters, typename Result,
          typename... Arguments>
struct Wrapper<kDomain, kCall, Parameters, Result (*)(Arguments...)> {
  // Written once, before any look-up returns the wrapper.
  static inline constinit void* original = nullptr;

  // A thread reads the wrapper's address from a symbol table or a GOT, jumps there, and reads `original`. On x86-64,
  // loads stay in order. 64-bit Arm may read `original` too early and miss it; the value arrives a moment later.
  static Result (*target())(Arguments...) {
    void* function = __atomic_load_n(&original, __ATOMIC_ACQUIRE);
#if !defined(__x86_64__)
    while (function == nullptr) [[unlikely]] function = __atomic_load_n(&original, __ATOMIC_ACQUIRE);
#endif
    return reinterpret_cast<Result (*)(Arguments...)>(function);
  }

  static Result call(Arguments... arguments) {
    const auto function = target();
    if (!Passage::is_watched(kDomain, kCall)) return function(arguments...);
    // CUPTI's structures have the arguments in the same order.
    Parameters parameters{arguments...};
    Passage passage(kDomain, kCall, &parameters);
    if constexpr (kMayBeWithheld<kDomain, kCall>) {
      if (Passage::is_withheld()) return static_cast<Result>(passage.leave(0));
    }
    return static_cast<Result>(passage.leave(function(arguments...)));
  }
};

// Written out, so that the compiler makes the table of entry points, not a constructor when the recorder is loaded.
#define CUDADIAG_ENTRY_POINT(name, domain, id, parameters, function)                               \
  {                                                                                                \
    name, id, reinterpret_cast<void*>(&Wrapper<domain, id, parameters, decltype(function)>::call), \
        &Wrapper<domain, id, parameters, decltype(function)>::original                             \
  }

}  // namespace cudadiag::record
