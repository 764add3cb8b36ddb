// The table of the runtime functions that get a wrapper.
#include <cuda_runtime_api.h>
#include <cupti.h>

#include "record/hooks/wrapper.h"

namespace cudadiag::record {

namespace {

const EntryPoint kEntryPoints[] = {
#define ENTRY(name, version, parameters, type) \
  CUDADIAG_ENTRY_POINT(#name, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_##version, parameters, &::type),
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
