// The table of the runtime functions that get a wrapper.
#include <cuda_runtime_api.h>
#include <cupti.h>

#include "record/hooks/wrapper.h"

namespace cudadiag::record {

namespace {

template <std::size_t kSet>
const EntryPoint kEntryPoints[] = {
#define ENTRY(name, version, parameters, type)                                                                   \
  CUDADIAG_ENTRY_POINT(#name, kSet, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_##version, parameters, \
                       &::type),
#define CALL(name, version, type) ENTRY(name, version, version##_params, type)
#define BARE_CALL(name, version) ENTRY(name, version, NoParameters, name)
#include "record/hooks/runtime_calls.inc"
#undef CALL
#undef BARE_CALL
#undef ENTRY
};

}  // namespace

std::span<const EntryPoint> runtime_entry_points(std::size_t set) {
  static_assert(kMostRuntimes == 2);
  return set == 0 ? kEntryPoints<0> : kEntryPoints<1>;
}

}  // namespace cudadiag::record
