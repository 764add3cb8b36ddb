// Calls whose thread queried their error only after it had continued its work. cudaGetLastError then returns the error
// at an innocent place, such as after a launch, and the launch gets the blame.
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

  // Returns the first call that failed at the same place since the thread last queried the error. `error` is such a
  // failed call, or a call that returned its error later. Returns null if `error` is neither.
  const session::FailedCall* cause(const session::FailedCall* error) const;

 private:
  std::map<const session::FailedCall*, const session::FailedCall*> causes_;
};

}  // namespace cudadiag::analyse
