// The macro that defines an entry point: SIM_API(name, need, (parameters), (arguments)) { body }. It exports the
// function under its real name, fills NVIDIA's parameter struct, and calls the body between the ENTER and EXIT
// callbacks.
#pragma once

#include "capture.h"
#include "gpu.h"
#include "hooks.h"

namespace sim {

enum class Need {
  nothing,
  driver,   // cuInit was called
  context,  // like `driver`, and a live context that has not failed is current
  quiet,    // like `context`, and no capture in progress forbids unsafe calls
};

struct Call {
  CUpti_CallbackId id;
  const char* name;
  Need need;
};

CUcontext current_context();
std::vector<CUcontext>& context_stack();
void set_driver_ready(bool ready);

// Returns null if the handle does not belong to a live stream. Accepts 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD.
// The caller must hold the mutex.
CUstream_st* stream_of(CUstream handle, bool per_thread);

// Resource callbacks are delivered as soon as the thread holds no lock, and at the latest when the call returns.
void announce(CUpti_CallbackIdResource id, CUcontext context, CUstream stream = nullptr);
void announce_module(CUpti_CallbackIdResource id, CUcontext context, CUmodule module);
void announce_node(CUgraph_st& graph, CUgraphNode_st& node);
void announce_clone(CUgraphNode_st& node, CUgraphNode_st& original);
void announce_exec(CUgraph graph, CUgraphExec exec);
void deliver_announcements();

CUresult admit(const Call& call);

// Delivers the ENTER and EXIT callbacks of an API call.
class Callback {
 public:
  Callback(const Call& call, const void* params, const char* symbol);
  void enter();
  void exit(CUresult* result);

 private:
  void deliver(CUpti_ApiCallbackSite site);
  const Call& call_;
  CUpti_CallbackData data_{};
  std::uint64_t shared_ = 0;
};

template <typename Params>
const char* symbol_of(const Params* params) {
  if constexpr (requires { params->f->name; }) {
    return params->f ? params->f->name.c_str() : nullptr;
  } else {
    return nullptr;
  }
}

template <typename Body>
CUresult perform(const Call& call, Body body) {
  CUresult result = admit(call);
  if (result == CUDA_SUCCESS) {
    result = body();
    deliver_announcements();
  }
  return result;
}

template <typename Params, typename Body>
CUresult traced(const Call& call, const Params* params, Body body) {
  static std::atomic<bool>& wanted = sim_hooks()->driver[call.id];
  if (!wanted.load(std::memory_order_relaxed)) return perform(call, body);
  Callback callback(call, params, symbol_of(params));
  callback.enter();
  CUresult result = perform(call, body);
  callback.exit(&result);
  return result;
}

}  // namespace sim

#define SIM_UNPACK(...) __VA_ARGS__
#define SIM_CALL(name, need) \
  sim::Call { CUPTI_DRIVER_TRACE_CBID_##name, #name, sim::Need::need }

#define SIM_EXPORT(name, need, parameters, arguments, body)                \
  extern "C" CUresult CUDAAPI name parameters {                            \
    const name##_params params{SIM_UNPACK arguments};                      \
    static constexpr sim::Call call = SIM_CALL(name, need);                \
    return sim::traced(call, &params, [&]() -> CUresult { return body; }); \
  }

#define SIM_API(name, need, parameters, arguments)                     \
  static CUresult name##_body parameters;                              \
  SIM_EXPORT(name, need, parameters, arguments, name##_body arguments) \
  static CUresult name##_body parameters

// Defines an entry point without parameters, for which NVIDIA has no struct.
#define SIM_API_VOID(name, need)                                                               \
  static CUresult name##_body();                                                               \
  extern "C" CUresult CUDAAPI name() {                                                         \
    static constexpr sim::Call call = SIM_CALL(name, need);                                    \
    return sim::traced(call, static_cast<const char*>(nullptr), [] { return name##_body(); }); \
  }                                                                                            \
  static CUresult name##_body()

// Defines an entry point with a variant (_ptsz or _ptds) for which stream 0 means the thread's own stream. The body
// gets `per_thread` as its last parameter.
#define SIM_API_STREAM(name, suffix, need, parameters, arguments)                                \
  static CUresult name##_body(SIM_UNPACK parameters, bool per_thread);                           \
  SIM_EXPORT(name, need, parameters, arguments, name##_body(SIM_UNPACK arguments, false))        \
  SIM_EXPORT(name##suffix, need, parameters, arguments, name##_body(SIM_UNPACK arguments, true)) \
  static CUresult name##_body(SIM_UNPACK parameters, [[maybe_unused]] bool per_thread)
