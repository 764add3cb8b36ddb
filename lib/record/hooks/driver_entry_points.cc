// All versions of the driver's functions are declared to this file alone: <cupti.h> cannot be read beside them.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <generated_cuda_meta.h>

#include "record/hooks/entry_points.h"
#include "record/hooks/passage.h"

namespace cudadiag::record {

namespace {

enum Place : std::uint32_t {
#define CALL(name, type) name##_place,
#define BARE_CALL(name) name##_place,
#include "record/hooks/driver_calls.inc"
#undef CALL
#undef BARE_CALL
  kPlaces
};

// Written once, before any wrapper is handed out.
void* g_originals[kPlaces];

constexpr const char* kNames[] = {
#define CALL(name, type) #name,
#define BARE_CALL(name) #name,
#include "record/hooks/driver_calls.inc"
#undef CALL
#undef BARE_CALL
};

struct NoParameters {};

template <std::uint32_t kPlace, std::uint32_t kCall, typename Parameters, typename Function>
struct Wrapper;

template <std::uint32_t kPlace, std::uint32_t kCall, typename Parameters, typename... Arguments>
struct Wrapper<kPlace, kCall, Parameters, CUresult (*)(Arguments...)> {
  static CUresult CUDAAPI call(Arguments... arguments) {
    const auto original = reinterpret_cast<CUresult (*)(Arguments...)>(g_originals[kPlace]);
    if (!Passage::is_watched(CUPTI_CB_DOMAIN_DRIVER_API, kCall)) return original(arguments...);
    // CUPTI's structures have the arguments in their order.
    Parameters parameters{arguments...};
    Passage passage(CUPTI_CB_DOMAIN_DRIVER_API, kCall, kNames[kPlace], &parameters);
    return static_cast<CUresult>(passage.leave(original(arguments...)));
  }
};

const EntryPoint kEntryPoints[] = {
#define ENTRY(name, parameters, type)                                                                \
  {kNames[name##_place], CUPTI_DRIVER_TRACE_CBID_##name,                                             \
   reinterpret_cast<void*>(                                                                          \
       &Wrapper<name##_place, CUPTI_DRIVER_TRACE_CBID_##name, parameters, decltype(&::type)>::call), \
   &g_originals[name##_place]},
#define CALL(name, type) ENTRY(name, name##_params, type)
#define BARE_CALL(name) ENTRY(name, NoParameters, name)
#include "record/hooks/driver_calls.inc"
#undef CALL
#undef BARE_CALL
#undef ENTRY
};

}  // namespace

std::span<const EntryPoint> driver_entry_points() { return kEntryPoints; }

}  // namespace cudadiag::record
