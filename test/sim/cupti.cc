// The simulated libcupti: one subscriber, whose requests set switches that the driver reads.
#include <sched.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "hooks.h"
#include "names.h"

// Registers a static destructor.
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept;
extern "C" void* __dso_handle;

struct CUpti_Subscriber_st {
  std::string name;
  bool shares = false;
};

namespace {

std::mutex mutex;
CUpti_Subscriber_st subscriber;
bool subscribed = false;

CUptiResult refuse(const char* rival, const CUpti_SubscriberParams* params) {
  if (params && params->oldSubscriberName && params->oldSubscriberSize > 0) {
    std::snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", rival);
  }
  return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

// Reads a member that CUpti_SubscriberParams has had since 13.2.
bool asks_to_share(const CUpti_SubscriberParams* params) {
  constexpr std::size_t kOlderSize = offsetof(CUpti_SubscriberParams, oldSubscriberSize) + sizeof(std::size_t);
  return params && params->structSize > kOlderSize && reinterpret_cast<const char*>(params)[kOlderSize] == 1;
}

bool is_of_13_3() {
  const sim::CuptiPolicy policy = sim_cupti_policy();
  return policy == sim::CuptiPolicy::shared || policy == sim::CuptiPolicy::unshared;
}

CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* user_data,
                      const CUpti_SubscriberParams* params) {
  if (!handle || !callback) return CUPTI_ERROR_INVALID_PARAMETER;
  std::lock_guard lock(mutex);
  if (sim_cupti_policy() == sim::CuptiPolicy::too_new) return CUPTI_ERROR_NOT_INITIALIZED;
  if (sim_cupti_policy() == sim::CuptiPolicy::held) return refuse("Simulated rival profiler", params);
  const bool shares = asks_to_share(params);
  if (shares && !is_of_13_3()) return CUPTI_ERROR_INVALID_PARAMETER;
  if (shares && sim_cupti_policy() == sim::CuptiPolicy::unshared) return refuse("", params);
  if (subscribed && shares && subscriber.shares) {
    static CUpti_Subscriber_st second;  // gets no callbacks
    *handle = &second;
    return CUPTI_SUCCESS;
  }
  if (subscribed) return refuse(subscriber.name.c_str(), params);
  subscribed = true;
  subscriber.shares = shares;
  subscriber.name = params && params->subscriberName ? params->subscriberName : "";
  sim_hooks()->user_data = user_data;
  sim_hooks()->callback = callback;
  *handle = &subscriber;
  return CUPTI_SUCCESS;
}

std::atomic<bool>* switches_of(CUpti_CallbackDomain domain) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return sim_hooks()->driver;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return sim_hooks()->runtime;
    case CUPTI_CB_DOMAIN_RESOURCE:
      return sim_hooks()->resource;
    default:
      return nullptr;  // the other domains have no callbacks here
  }
}

void enable_all(CUpti_CallbackDomain domain, bool enable) {
  std::atomic<bool>* switches = switches_of(domain);
  for (std::uint32_t id = 1; switches && id < sim::Hooks::kIds; ++id) switches[id] = enable;
}

// The real library registers this many exit handlers, which is more than fit into the first block of libc's handler
// list.
const bool registered_handlers = [] {
  constexpr int kHandlers = 38;
  for (int i = 0; i < kHandlers; ++i) __cxa_atexit([](void*) { sched_yield(); }, nullptr, &__dso_handle);
  return true;
}();

bool ours(CUpti_SubscriberHandle handle) { return subscribed && handle == &subscriber; }

}  // namespace

extern "C" {

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata) {
  return subscribe(handle, callback, userdata, nullptr);
}

CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata,
                                       CUpti_SubscriberParams* params) {
  return subscribe(handle, callback, userdata, params);
}

CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle handle) {
  if (!ours(handle)) return CUPTI_ERROR_INVALID_PARAMETER;
  cuptiEnableAllDomains(0, handle);
  std::lock_guard lock(mutex);
  sim_hooks()->callback = nullptr;
  subscribed = false;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                         CUpti_CallbackId cbid) {
  if (!ours(handle) || cbid == 0 || cbid >= sim::Hooks::kIds) return CUPTI_ERROR_INVALID_PARAMETER;
  if (auto* switches = switches_of(domain)) switches[cbid] = enable != 0;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain) {
  if (!ours(handle)) return CUPTI_ERROR_INVALID_PARAMETER;
  enable_all(domain, enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle) {
  if (!ours(handle)) return CUPTI_ERROR_INVALID_PARAMETER;
  for (auto domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE}) {
    enable_all(domain, enable != 0);
  }
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                           CUpti_CallbackId cbid) {
  const auto* switches = switches_of(domain);
  if (!ours(handle) || cbid >= sim::Hooks::kIds) return CUPTI_ERROR_INVALID_PARAMETER;
  *enable = switches && switches[cbid] ? 1 : 0;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
  *name = nullptr;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) *name = sim::name_in(sim::kDriverCalls, cbid);
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) *name = sim::name_in(sim::kRuntimeCalls, cbid);
  return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char** text) {
  switch (result) {
    case CUPTI_SUCCESS:
      *text = "CUPTI_SUCCESS";
      break;
    case CUPTI_ERROR_NOT_INITIALIZED:
      *text = "CUPTI_ERROR_NOT_INITIALIZED";
      break;
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
      break;
    default:
      *text = "CUPTI_ERROR (simulated)";
  }
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t* version) {
  *version = is_of_13_3() ? 130300 : CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiFinalize() {
  std::fprintf(stderr, "simulated CUPTI: cuptiFinalize was called; nothing may do that while the process runs\n");
  std::abort();
}

CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t* id) {
  *id = sim_stream_id(context, stream, per_thread != 0);
  return *id ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_STREAM;
}

CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  *id = sim_graph_node_id(node);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetGraphId(CUgraph graph, uint32_t* id) {
  *id = sim_graph_id(graph);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t* id) {
  if (!context) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = sim_context_id(context);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t* id) {
  if (!context) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = sim_context_device(context);
  return CUPTI_SUCCESS;
}
}
