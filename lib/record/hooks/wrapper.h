// The function that replaces one entry point. It calls the original function, and reports ENTER and EXIT (passage.h).
#pragma once

#include <cstdint>

#include "record/hooks/entry_points.h"
#include "record/hooks/passage.h"

namespace cudadiag::record {

// Used if CUPTI has no parameter structure for a call.
struct NoParameters {};

// True if the recorder may withhold this call from the driver. Only cuGraphDestroy is ever withheld, so only its
// wrapper checks.
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
  // these loads are not reordered. A 64-bit Arm processor may read `original` too early and get null, so the loop waits
  // for the value.
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
    // The members of CUPTI's structures are in the order of the function's arguments.
    Parameters parameters{arguments...};
    Passage passage(kDomain, kCall, &parameters);
    if constexpr (kMayBeWithheld<kDomain, kCall>) {
      if (Passage::is_withheld()) return static_cast<Result>(passage.leave(0));
    }
    return static_cast<Result>(passage.leave(function(arguments...)));
  }
};

// This is a macro, so that the table of entry points is built at compile time instead of by a constructor.
#define CUDADIAG_ENTRY_POINT(name, domain, id, parameters, function)                               \
  {                                                                                                \
    name, id, reinterpret_cast<void*>(&Wrapper<domain, id, parameters, decltype(function)>::call), \
        &Wrapper<domain, id, parameters, decltype(function)>::original                             \
  }

}  // namespace cudadiag::record
