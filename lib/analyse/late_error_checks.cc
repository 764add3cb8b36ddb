#include "analyse/late_error_checks.h"

#include <algorithm>

namespace cudadiag::analyse {

using session::FailedCall;

LateErrorChecks::LateErrorChecks(const std::vector<const FailedCall*>& errors, const SameCall& same) {
  for (const FailedCall* look : errors) {
    if (look->of_call == 0) continue;
    const auto of = std::find_if(errors.begin(), errors.end(),
                                 [&](const FailedCall* error) { return error->serial == look->of_call; });
    if (of == errors.end()) continue;
    const FailedCall* first = nullptr;
    for (auto error = errors.begin(); error != errors.end() && (*error)->serial < look->serial; ++error) {
      // `of` is the first failure that the recorder still remembered. Earlier failures also count if the thread did not
      // query their errors. Failures at other call sites count too, because the recorder treats them as different
      // calls.
      const bool unasked = error >= of || !((*error)->flags & wire::error::kLookedAt) || (*error)->site != (*of)->site;
      if ((*error)->of_call != 0 || !unasked || causes_.contains(*error)) continue;
      if ((*error)->tid != (*of)->tid || !same(**error, **of)) continue;
      if (first == nullptr) first = *error;
      causes_[*error] = first;
    }
    if (first != nullptr) causes_[look] = first;
  }
}

const FailedCall* LateErrorChecks::cause(const FailedCall* error) const {
  const auto found = causes_.find(error);
  return found == causes_.end() ? nullptr : found->second;
}

}  // namespace cudadiag::analyse
