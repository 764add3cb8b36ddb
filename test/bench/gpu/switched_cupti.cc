// A libcupti that forwards to the real one (CUDADIAG_BENCH_CUPTI). While the program runs, it can disable a
// subscriber's callbacks and enable them again. The cost of callbacks is the difference between the times of a step
// with and without them, in one process. Times of separate processes of the same program vary by more than this cost.
// The library is preloaded under libcupti's name, so that every lookup of libcupti finds it.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <iterator>

// This file must not need a C++ runtime. It is preloaded, so the whole program would share that runtime.
#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

struct Enabled {
  CUpti_SubscriberHandle subscriber;
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
};

// Used by one thread at a time: the subscriber enables callbacks inside cuInit, and the program switches them on and
// off between its steps.
Enabled g_enabled[4096];
std::size_t g_count;
void* g_real;

// RTLD_GLOBAL, so that all other CUPTI functions are found in the real library.
[[gnu::constructor]] void open_real() { g_real = dlopen(std::getenv("CUDADIAG_BENCH_CUPTI"), RTLD_NOW | RTLD_GLOBAL); }

#define REAL(name) reinterpret_cast<decltype(&(name))>(dlsym(g_real, #name))

}  // namespace

EXPORTED CUptiResult CUPTIAPI cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle subscriber,
                                                  CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (enable != 0 && g_count < std::size(g_enabled)) g_enabled[g_count++] = {subscriber, domain, id};
  return REAL(cuptiEnableCallback)(enable, subscriber, domain, id);
}

EXPORTED CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                                void* data, CUpti_SubscriberParams* parameters) {
  return REAL(cuptiSubscribe_v2)(subscriber, callback, data, parameters);
}

EXPORTED CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  return REAL(cuptiGetCallbackName)(domain, id, name);
}

EXPORTED CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, std::uint32_t* id) {
  return REAL(cuptiGetContextId)(context, id);
}

EXPORTED CUptiResult CUPTIAPI cuptiGetVersion(std::uint32_t* version) { return REAL(cuptiGetVersion)(version); }

EXPORTED void switch_callbacks(std::uint32_t on) {
  for (std::size_t i = 0; i < g_count; ++i) {
    REAL(cuptiEnableCallback)(on, g_enabled[i].subscriber, g_enabled[i].domain, g_enabled[i].id);
  }
}
