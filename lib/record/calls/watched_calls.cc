#include "record/calls/watched_calls.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "record/calls/calls.h"

namespace cudadiag::record {

void WatchedCalls::enable(bool modules) {
  // Greater than the last callback id in our headers, because newer CUPTI versions have more callbacks.
  constexpr std::uint32_t kMostCalls = 2048;
  // With hooks, launches are always watched, because a hook on a shared runtime costs almost nothing.
  launches_ = !runtimes_.hand_launches_on() || watch_.by_hooks();
  const auto is_left_out = [&](CUpti_CallbackDomain domain, std::uint32_t id) {
    return domain == CUPTI_CB_DOMAIN_RUNTIME_API && !launches_ &&
           std::ranges::any_of(Runtimes::kLeftOut, [&](const auto& launch) { return launch.id == id; });
  };
  for (const auto domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API}) {
    for (std::uint32_t id = 1; id < kMostCalls; ++id) {
      const std::string_view name = watch_.call_name(domain, id);
      if (!name.empty() && !only_asks(name) && !is_left_out(domain, id)) watch_.enable(domain, id);
    }
  }
  if (!launches_) {
    watch_.enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress);
    watch_.enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2);
  }
  for (const std::uint32_t id :
       {CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
        CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
        CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED}) {
    watch_.enable(CUPTI_CB_DOMAIN_RESOURCE, id);
  }
  if (modules) watch_.enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED);
}

// Call this when the process may have a runtime that rejects launches without calling the driver.
void WatchedCalls::watch_launches() {
  if (runtimes_.hand_launches_on() || launches_.exchange(true)) return;
  for (const auto& launch : Runtimes::kLeftOut) watch_.enable(CUPTI_CB_DOMAIN_RUNTIME_API, launch.id);
}

void WatchedCalls::runtime_may_start(std::uint32_t id, const CUpti_CallbackData& data) {
  const auto looked_up = [&](const auto& parameters) {
    if (parameters.symbol != nullptr) Runtimes::looked_up(parameters.symbol, parameters.cudaVersion);
  };
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress:
      return looked_up(*static_cast<const cuGetProcAddress_params*>(data.functionParams));
    case CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2:
      return looked_up(*static_cast<const cuGetProcAddress_v2_params*>(data.functionParams));
    default:
      runtimes_.initialised();
      watch_launches();
  }
}

const char* WatchedCalls::driver_call_failed(const char* name, bool launch) {
  const char* outer = runtimes_.failed(name, launch);
  watch_launches();
  return outer;
}

void WatchedCalls::watch_last_error() {
  if (last_error_.exchange(true)) return;
  watch_.enable(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020);
  watch_.enable(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020);
}

}  // namespace cudadiag::record
