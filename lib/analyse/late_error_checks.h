// Calls whose thread asked for their error only after it had continued its work. cudaGetLastError then returns the
// error at an innocent place, such as after a launch, which gets the blame.
#pragma once

#include <map>
#include <vector>

#include "analyse/reruns/same_call.h"
#include "session/session.h"

namespace cudadiag::analyse {

class LateErrorChecks {
 public:
  // Errors by serial; they must outlive this.
  LateErrorChecks(const std::vector<const session::FailedCall*>& errors, const SameCall& same);

  // Returns the first call that failed at its place since the thread had last asked. `error` is such a failure, or a
  // call that returned its error later. Returns null if `error` is neither.
  const session::FailedCall* cause(const session::FailedCall* error) const;

 private:
  std::map<const session::FailedCall*, const session::FailedCall*> causes_;
};

}  // namespace cudadiag::analyse
