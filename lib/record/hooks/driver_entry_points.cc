// This table has a file of its own, because it needs the declarations of all versions of the driver's functions. These
// conflict with <cupti.h>.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <generated_cuda_meta.h>

#include "record/hooks/wrapper.h"

namespace cudadiag::record {

namespace {

const EntryPoint kEntryPoints[] = {
#define ENTRY(name, parameters, type) \
  CUDADIAG_ENTRY_POINT(#name, 0, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name, parameters, &::type),
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
