#include "analyse/late_looks.h"

#include <algorithm>

namespace cudadiag::analyse {
namespace {

using session::Error;

bool same_failure(const Error& a, const Error& b) {
  return a.tid == b.tid && a.code == b.code && a.site == b.site && a.call == b.call;
}

}  // namespace

LateLooks::LateLooks(const std::vector<const Error*>& errors) {
  for (const Error* look : errors) {
    if (look->of_call == 0) continue;
    const auto of =
        std::find_if(errors.begin(), errors.end(), [&](const Error* error) { return error->serial == look->of_call; });
    if (of == errors.end()) continue;
    const Error* first = nullptr;
    for (auto error = errors.begin(); error != errors.end() && (*error)->serial < look->serial; ++error) {
      // Those before the call that it names were not remembered any more, or their error had been asked for at once.
      const bool unasked = error >= of || !((*error)->flags & wire::error::kLookedAt);
      if ((*error)->of_call != 0 || !unasked || !same_failure(**error, **of) || causes_.contains(*error)) continue;
      if (first == nullptr) first = *error;
      causes_[*error] = first;
    }
    if (first != nullptr) causes_[look] = first;
  }
}

const Error* LateLooks::cause(const Error* error) const {
  const auto found = causes_.find(error);
  return found == causes_.end() ? nullptr : found->second;
}

}  // namespace cudadiag::analyse
