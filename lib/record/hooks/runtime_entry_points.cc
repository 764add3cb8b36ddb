#include <cuda_runtime_api.h>
#include <cupti.h>

#include "record/hooks/entry_points.h"
#include "record/hooks/passage.h"

namespace cudadiag::record {

namespace {

enum Place : std::uint32_t {
#define CALL(name, version, type) name##_place,
#define BARE_CALL(name, version) name##_place,
#include "record/hooks/runtime_calls.inc"
#undef CALL
#undef BARE_CALL
  kPlaces
};

void* g_originals[kPlaces];

constexpr const char* kNames[] = {
#define CALL(name, version, type) #name,
#define BARE_CALL(name, version) #name,
#include "record/hooks/runtime_calls.inc"
#undef CALL
#undef BARE_CALL
};

struct NoParameters {};

template <std::uint32_t kPlace, std::uint32_t kCall, typename Parameters, typename Function>
struct Wrapper;

template <std::uint32_t kPlace, std::uint32_t kCall, typename Parameters, typename... Arguments>
struct Wrapper<kPlace, kCall, Parameters, cudaError_t (*)(Arguments...)> {
  static cudaError_t CUDARTAPI call(Arguments... arguments) {
    const auto original = reinterpret_cast<cudaError_t (*)(Arguments...)>(g_originals[kPlace]);
    if (!Passage::is_watched(CUPTI_CB_DOMAIN_RUNTIME_API, kCall)) return original(arguments...);
    Parameters parameters{arguments...};
    Passage passage(CUPTI_CB_DOMAIN_RUNTIME_API, kCall, kNames[kPlace], &parameters);
    return static_cast<cudaError_t>(passage.leave(original(arguments...)));
  }
};

const EntryPoint kEntryPoints[] = {
#define ENTRY(name, version, parameters, type)                                                           \
  {kNames[name##_place], CUPTI_RUNTIME_TRACE_CBID_##version,                                             \
   reinterpret_cast<void*>(                                                                              \
       &Wrapper<name##_place, CUPTI_RUNTIME_TRACE_CBID_##version, parameters, decltype(&::type)>::call), \
   &g_originals[name##_place]},
#define CALL(name, version, type) ENTRY(name, version, version##_params, type)
#define BARE_CALL(name, version) ENTRY(name, version, NoParameters, name)
#include "record/hooks/runtime_calls.inc"
#undef CALL
#undef BARE_CALL
#undef ENTRY
};

}  // namespace

std::span<const EntryPoint> runtime_entry_points() { return kEntryPoints; }

}  // namespace cudadiag::record
