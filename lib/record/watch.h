// The source of the recorder's callbacks: CUPTI or, if CUPTI is unavailable or must not be used, hooks.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string_view>

#include "record/cupti/cupti_api.h"
#include "record/cupti/driver_api.h"
#include "record/hooks/hooks.h"
#include "record/output/interner.h"
#include "wire/names/record_options.h"

namespace cudadiag::record {

class Watch {
 public:
  // Leaves notes and properties about the source. Returns false if there will be no callbacks.
  bool start(CUpti_CallbackFunc callback, const DriverApi& driver, Interner& interner, wire::WatchBy way);

  bool by_hooks() const { return by_hooks_; }
  // May be called at any time, even inside a callback.
  void enable(CUpti_CallbackDomain domain, std::uint32_t id) {
    by_hooks_ ? hooks_.enable(domain, id) : cupti_.enable(domain, id);
  }
  // Returns a name such as "cuLaunchKernel".
  std::string_view call_name(CUpti_CallbackDomain domain, std::uint32_t id) const {
    return by_hooks_ ? hooks_.call_name(domain, id) : cupti_.call_name(domain, id);
  }
  std::uint32_t context_uid(CUcontext context) const {
    return by_hooks_ ? hooks_.context_uid(context) : cupti_.context_uid(context);
  }

 private:
  bool start_hooks(CUpti_CallbackFunc callback, const DriverApi& driver, Interner& interner);

  bool by_hooks_ = false;
  CuptiApi cupti_;
  Hooks hooks_;
};

}  // namespace cudadiag::record
