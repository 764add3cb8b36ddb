// Opens libcupti at run time and subscribes to its callbacks. Prefers the libcupti that the process has already loaded,
// and then the best one that the launcher found. A CUPTI that is older than the driver works. If a CUPTI is too new for
// the driver, the recorder tries the next one.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "record/libc_substitutes.h"

namespace cudadiag::record {

class CuptiApi {
 public:
  enum class Outcome { subscribed, not_found, held, refused };

  static bool is_loaded();

  // Opens a CUPTI and subscribes `callback` to it. `detail` receives a text for the user: the library's path, the name
  // of the tool that holds the process's only subscription, or the error.
  Outcome subscribe(CUpti_CallbackFunc callback, char* detail, std::size_t detail_size);

  // May be called at any time, even inside a callback.
  void enable(CUpti_CallbackDomain domain, std::uint32_t id);
  // Returns a name such as "cuLaunchKernel".
  std::string_view call_name(CUpti_CallbackDomain domain, std::uint32_t id) const;
  std::uint32_t version() const;
  std::uint32_t context_uid(CUcontext context) const;

 private:
  bool open_next(std::size_t& candidate, char* path, std::size_t path_size);
  const char* place_of_library(const char* asked) const;
  Outcome try_subscribe(CUpti_CallbackFunc callback, char* detail, std::size_t detail_size);

  Mutex mutex_;  // CUPTI requires that only one thread at a time enables callbacks
  void* library_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  decltype(&cuptiEnableCallback) enable_callback_ = nullptr;
  decltype(&cuptiGetContextId) get_context_id_ = nullptr;
};

}  // namespace cudadiag::record
