#include "record/callback_source.h"

#include <stdio.h>

#include <algorithm>

#include "record/calls/call_rules.h"

namespace cudadiag::record {

namespace {

const char* note_of(CuptiApi::Outcome outcome) {
  if (outcome == CuptiApi::Outcome::held) return "cupti-held";
  return outcome == CuptiApi::Outcome::not_found ? "cupti-not-found" : "cupti-refused";
}

// Called when a runtime starts. Notes the runtimes whose own calls hooks do not see.
void look_for_runtimes(Interner& interner) {
  const auto note = [](const char* path, void* to) {
    static_cast<Interner*>(to)->note("runtime-not-seen", path);
    return true;
  };
  redirect_runtimes(note, &interner);
  Runtimes::each_unseen(note, &interner);
}

// Returns whether hooks may miss errors that a runtime of the user's code keeps to itself.
bool hooks_miss_errors() {
  bool found = false;
  const auto find = [](const char*, void* to) {
    *static_cast<bool*>(to) = true;
    return false;
  };
  return Runtimes::each_unseen(find, &found, true) || found;
}

}  // namespace

bool CallbackSource::start(CUpti_CallbackFunc callback, const DriverApi& driver, Interner& interner,
                           const wire::RecordOptions& options) {
  const bool automatic = options.watch_by == wire::WatchBy::automatic;
  const bool hooks_first =
      options.watch_by == wire::WatchBy::hooks || (automatic && !options.races && !hooks_miss_errors());
  if (hooks_first && start_hooks(callback, driver, interner)) return true;
  if (options.watch_by == wire::WatchBy::hooks) return false;
  char text[512];
  const CuptiApi::Outcome outcome = cupti_.subscribe(callback, text, sizeof text);
  if (outcome != CuptiApi::Outcome::subscribed) {
    interner.note(note_of(outcome), text);
    return automatic && !hooks_first && start_hooks(callback, driver, interner);
  }
  interner.property("cupti.path", text);
  snprintf(text, sizeof text, "%u", cupti_.version());
  interner.property("cupti", text);
  return true;
}

bool CallbackSource::start_hooks(CUpti_CallbackFunc callback, const DriverApi& driver, Interner& interner) {
  const Redirection made = hooks_.start(callback, driver);
  char text[128];
  if (made.outcome != Redirection::Outcome::done) {
    interner.note("hooks-refused", made.outcome == Redirection::Outcome::no_driver
                                       ? "libcuda.so.1 was not found among the loaded libraries"
                                       : "the driver's symbol table cannot be made writable");
    return false;
  }
  by_hooks_ = true;
  interner.property("watched_by", "hooks");
  look_for_runtimes(interner);
  snprintf(text, sizeof text, "%zu entry points, %zu addresses replaced", made.symbols, made.replaced);
  interner.property("hooks", text);
  return true;
}

void WatchedCalls::enable(bool modules) {
  // Greater than the last callback id in our headers, because newer CUPTI versions have more callbacks.
  constexpr std::uint32_t kMostCalls = 2048;
  launches_ = !runtimes_.hand_launches_on();
  const auto is_left_out = [&](CUpti_CallbackDomain domain, std::uint32_t id) {
    return domain == CUPTI_CB_DOMAIN_RUNTIME_API && !launches_ &&
           std::ranges::any_of(Runtimes::kLeftOut, [&](const auto& launch) { return launch.id == id; });
  };
  for (const auto domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API}) {
    for (std::uint32_t id = 1; id < kMostCalls; ++id) {
      const std::string_view name = source_.call_name(domain, id);
      if (!name.empty() && !only_asks(name) && !is_left_out(domain, id)) source_.enable(domain, id);
    }
  }
  if (!launches_) {
    source_.enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress);
    source_.enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2);
  }
  for (const std::uint32_t id :
       {CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
        CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
        CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED}) {
    source_.enable(CUPTI_CB_DOMAIN_RESOURCE, id);
  }
  if (modules) source_.enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED);
}

// Call this when the process may have a runtime that rejects launches without calling the driver.
void WatchedCalls::watch_launches() {
  if (runtimes_.hand_launches_on() || launches_.exchange(true)) return;
  for (const auto& launch : Runtimes::kLeftOut) source_.enable(CUPTI_CB_DOMAIN_RUNTIME_API, launch.id);
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
      if (runtimes_.initialised() && source_.by_hooks()) look_for_runtimes(*interner_);
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
  source_.enable(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020);
  source_.enable(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020);
}

}  // namespace cudadiag::record
