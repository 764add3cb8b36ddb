// Finds calls whose error the thread queried only after it had continued. For example, cudaGetLastError after a correct
// launch may return the error of an earlier call, so the launch gets the blame.
#pragma once

#include <map>
#include <vector>

#include "analyse/reruns/same_call.h"
#include "session/session.h"

namespace cudadiag::analyse {

class LateErrorChecks {
 public:
  // `errors` must be sorted by serial, and must outlive this object.
  LateErrorChecks(const std::vector<const session::FailedCall*>& errors, const SameCall& same);

  // Returns the first call that failed in the same way at the same line since the thread last queried the error.
  // Returns null unless `error` is one of these calls, or a later call that returned their error.
  const session::FailedCall* cause(const session::FailedCall* error) const;

 private:
  std::map<const session::FailedCall*, const session::FailedCall*> causes_;
};

}  // namespace cudadiag::analyse
