// The entry points that the recorder can replace, and their wrappers, which report each call as CUPTI would.
#pragma once

#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "record/this_thread.h"

namespace cudadiag::record {

// The entry points of the driver and the runtime that the recorder can replace. Each has a wrapper of the same type.
// The wrapper calls the original function, and reports the call to the recorder before and after it.
//
// An exported name denotes one version of a function, and thus one type. cuGetProcAddress may return a different
// version for the same plain name. A look-up therefore returns a wrapper only if it found exactly the function that the
// wrapper calls.
struct EntryPoint {
  const char* name;    // as libcuda exports it: "cuMemAlloc_v2"
  std::uint32_t call;  // its CUPTI callback id
  void* wrapper;
  void** original;  // points to null if this driver does not have the function
};

std::span<const EntryPoint> driver_entry_points();
// Returns the entry points of a libcudart.so. A runtime that is linked into the program has none. A process may have
// several runtimes, so there are two sets of wrappers.
inline constexpr std::size_t kMostRuntimes = 2;
std::span<const EntryPoint> runtime_entry_points(std::size_t set);

class Hooks;

// Reports a wrapped call to the recorder, before and after the wrapped function runs, as CUPTI would.
class Passage {
 public:
  static constexpr std::uint32_t kMostCalls = 1024;

  // How a call is watched. A simple call is a driver call that issues work, and has no effect that the hooks must
  // report.
  enum class Watched : std::uint8_t { no, yes, simple };
  static Watched watched(CUpti_CallbackDomain domain, std::uint32_t call) {
    return watched_[index(domain)][call].load(std::memory_order_acquire);
  }
  static void watch(CUpti_CallbackDomain domain, std::uint32_t call);
  // Returns a name such as "cuLaunchKernel". All names are set before any call is watched.
  static const char* name_of(CUpti_CallbackDomain domain, std::uint32_t call) {
    return call < kMostCalls ? names_[index(domain)][call] : nullptr;
  }
  static void name(CUpti_CallbackDomain domain, std::uint32_t call, const char* name) {
    names_[index(domain)][call] = name;
  }

  // Reports ENTER. `parameters` points to CUPTI's structure for the call.
  [[gnu::hot, gnu::noinline, gnu::flatten]] Passage(ThisThread& self, CUpti_CallbackDomain domain, std::uint32_t call,
                                                    Watched watched, const void* parameters);
  // Returns true if the wrapper must not call the driver. A second call returns false. Only reruns withhold calls.
  static bool is_withheld() { return std::exchange(t_this.withheld, false); }
  // Reports EXIT. `result` is what the program receives: a CUresult or a cudaError_t.
  [[gnu::hot, gnu::noinline]] void leave(std::uint32_t result);
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

 private:
  static std::size_t index(CUpti_CallbackDomain domain) { return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? 1 : 0; }

  inline static constinit std::array<std::array<std::atomic<Watched>, kMostCalls>, 2> watched_{};
  inline static constinit std::array<std::array<const char*, kMostCalls>, 2> names_{};

  [[gnu::noinline]] void leave_other();

  ThisThread& self_;
  Hooks* hooks_;  // null if the recorder does not exist yet
  CUpti_CallbackDomain domain_;
  std::uint32_t call_;
  std::uint32_t result_ = 0;
  Watched watched_as_;
  CUpti_CallbackData data_;
};

// Used if CUPTI has no parameter structure for a call.
struct NoParameters {};

// True if the recorder may withhold this call from the driver. Only cuGraphDestroy is ever withheld, so only its
// wrapper checks.
template <CUpti_CallbackDomain kDomain, std::uint32_t kCall>
constexpr bool kMayBeWithheld = kDomain == CUPTI_CB_DOMAIN_DRIVER_API&& kCall == CUPTI_DRIVER_TRACE_CBID_cuGraphDestroy;

// The function that replaces one entry point.
template <std::size_t kSet, CUpti_CallbackDomain kDomain, std::uint32_t kCall, typename Parameters, typename Function>
struct Wrapper;

template <std::size_t kSet, CUpti_CallbackDomain kDomain, std::uint32_t kCall, typename Parameters, typename Result,
          typename... Arguments>
struct Wrapper<kSet, kDomain, kCall, Parameters, Result (*)(Arguments...)> {
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
    const Passage::Watched watched = Passage::watched(kDomain, kCall);
    if (watched == Passage::Watched::no) return function(arguments...);
    ThisThread& self = this_thread();
    if (self.inside) return function(arguments...);  // a call of the recorder itself
    // The members of CUPTI's structures are in the order of the function's arguments.
    Parameters parameters{arguments...};
    Passage passage(self, kDomain, kCall, watched, &parameters);
    if constexpr (kMayBeWithheld<kDomain, kCall>) {
      if (Passage::is_withheld()) {
        passage.leave(0);
        return Result{};
      }
    }
    const Result result = function(arguments...);
    passage.leave(result);
    return result;
  }
};

// This is a macro, so that the table of entry points is built at compile time instead of by a constructor.
#define CUDADIAG_ENTRY_POINT(name, set, domain, id, parameters, function)                               \
  {                                                                                                     \
    name, id, reinterpret_cast<void*>(&Wrapper<set, domain, id, parameters, decltype(function)>::call), \
        &Wrapper<set, domain, id, parameters, decltype(function)>::original                             \
  }

}  // namespace cudadiag::record
