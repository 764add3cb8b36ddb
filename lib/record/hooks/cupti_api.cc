#include "record/hooks/cupti_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <climits>
#include <iterator>

#include "wire/environment.h"

namespace cudadiag::record {

namespace {

constexpr const char* kSonames[] = {"libcupti.so.13", "libcupti.so.12"};

// CUpti_SubscriberParams of CUPTI 13.2 and later, which older headers lack. From CUPTI 13.3 and driver r610 on, several
// tools can use CUPTI at the same time if they all set allowMultipleSubscribers.
struct SharedSubscriberParams {
  std::size_t structSize;
  const char* subscriberName;
  char* oldSubscriberName;
  std::size_t oldSubscriberSize;
  std::uint8_t allowMultipleSubscribers;
  std::uint8_t padding[7];
};
static_assert(sizeof(SharedSubscriberParams) == 40);
constexpr std::uint32_t kFirstShared = 130300;  // CUPTI 13.3, in the format of cuptiGetVersion

template <typename Function>
Function resolve(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// Copies the n-th path of a colon-separated list to `path`. Returns false if the list has no such path.
bool list_entry(const char* list, std::size_t n, char* path, std::size_t size) {
  for (; list != nullptr && n > 0; --n) {
    list = strchr(list, ':');
    if (list != nullptr) ++list;
  }
  if (list == nullptr || *list == '\0') return false;
  snprintf(path, size, "%.*s", static_cast<int>(strcspn(list, ":")), list);
  return true;
}

}  // namespace

bool CuptiApi::is_loaded() {
  return std::any_of(std::begin(kSonames), std::end(kSonames), [](const char* name) {
    void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (library != nullptr) dlclose(library);
    return library != nullptr;
  });
}

// Tries candidates in this order: loaded libraries, the launcher's list of paths (the user's own paths come first), and
// the loader's search path.
bool CuptiApi::open_next(std::size_t& candidate, char* path, std::size_t path_size) {
  constexpr std::size_t kSonameCount = std::size(kSonames);
  const char* list = getenv(wire::environment::kCupti);
  std::size_t listed = 0;
  while (list_entry(list, listed, path, path_size)) ++listed;
  for (library_ = nullptr; library_ == nullptr;) {
    const std::size_t at = candidate++;
    if (at >= kSonameCount && list_entry(list, at - kSonameCount, path, path_size)) {
      library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
      continue;
    }
    const bool loaded_only = at < kSonameCount;
    const std::size_t name = loaded_only ? at : at - kSonameCount - listed;
    if (name >= kSonameCount) return false;
    snprintf(path, path_size, "%s", kSonames[name]);
    library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL | (loaded_only ? RTLD_NOLOAD : 0));
  }
  return true;
}

// Returns the path of the loaded library, because `asked` may be just a name.
const char* CuptiApi::place_of_library(const char* asked) const {
  Dl_info info{};
  const bool known = dladdr(reinterpret_cast<void*>(enable_callback_), &info) != 0 && info.dli_fname != nullptr;
  return known ? info.dli_fname : asked;
}

CuptiApi::Outcome CuptiApi::subscribe(CUpti_CallbackFunc callback, char* detail, std::size_t detail_size) {
  char path[PATH_MAX];
  Outcome outcome = Outcome::not_found;
  snprintf(detail, detail_size, "no libcupti was found");
  for (std::size_t candidate = 0; open_next(candidate, path, sizeof path);) {
    outcome = try_subscribe(callback, detail, detail_size);
    if (outcome == Outcome::subscribed) snprintf(detail, detail_size, "%s", place_of_library(path));
    if (outcome != Outcome::refused) break;
  }
  return outcome;
}

CuptiApi::Outcome CuptiApi::try_subscribe(CUpti_CallbackFunc callback, char* detail, std::size_t detail_size) {
  enable_callback_ = resolve<decltype(enable_callback_)>(library_, "cuptiEnableCallback");
  get_context_id_ = resolve<decltype(get_context_id_)>(library_, "cuptiGetContextId");
  CUptiResult result = CUPTI_ERROR_UNKNOWN;
  char rival[128] = "";
  // Version 2 of this function (CUDA 12.9 and later) reports the name of the other subscriber. Version 1 exists in
  // every CUPTI.
  if (const auto subscribe_v2 = resolve<decltype(&cuptiSubscribe_v2)>(library_, "cuptiSubscribe_v2")) {
    SharedSubscriberParams parameters = {sizeof parameters, "cudadiag", rival, sizeof rival, 1, {}};
    auto* passed = reinterpret_cast<CUpti_SubscriberParams*>(&parameters);
    if (version() >= kFirstShared) result = subscribe_v2(&subscriber_, callback, nullptr, passed);
    if (result != CUPTI_SUCCESS) {  // the driver is older, or another subscriber does not share
      parameters.structSize = offsetof(SharedSubscriberParams, allowMultipleSubscribers);
      result = subscribe_v2(&subscriber_, callback, nullptr, passed);
    }
  } else if (const auto subscribe = resolve<decltype(&cuptiSubscribe)>(library_, "cuptiSubscribe")) {
    result = subscribe(&subscriber_, callback, nullptr);
  }
  if (result == CUPTI_SUCCESS && enable_callback_ != nullptr) return Outcome::subscribed;
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    snprintf(detail, detail_size, "%s", rival[0] != '\0' ? rival : "another tool");
    return Outcome::held;
  }
  snprintf(detail, detail_size, "CUPTI refused to start (error %d)", static_cast<int>(result));
  return Outcome::refused;
}

void CuptiApi::enable(CUpti_CallbackDomain domain, std::uint32_t id) {
  if (enable_callback_ == nullptr) return;  // not subscribed, as in a child of fork()
  const LockGuard lock(mutex_);
  enable_callback_(1, subscriber_, domain, id);
}

std::string_view CuptiApi::call_name(CUpti_CallbackDomain domain, std::uint32_t id) const {
  const char* name = nullptr;
  const auto get = resolve<decltype(&cuptiGetCallbackName)>(library_, "cuptiGetCallbackName");
  if (get == nullptr || get(domain, id, &name) != CUPTI_SUCCESS || name == nullptr) return {};
  return name;
}

std::uint32_t CuptiApi::version() const {
  std::uint32_t version = 0;
  const auto get = resolve<decltype(&cuptiGetVersion)>(library_, "cuptiGetVersion");
  if (get != nullptr) get(&version);
  return version;
}

std::uint32_t CuptiApi::context_uid(CUcontext context) const {
  std::uint32_t uid = 0;
  if (get_context_id_ == nullptr || get_context_id_(context, &uid) != CUPTI_SUCCESS) return 0;
  return uid;
}

}  // namespace cudadiag::record
