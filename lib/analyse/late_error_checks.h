// Calls whose error their thread asked for only after it had continued its work. cudaGetLastError then returns the
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

  // The first call that failed so at its place since the thread had asked before, of `error` that did or that handed
  // its error on; null: it has nothing to do with such a one.
  const session::FailedCall* cause(const session::FailedCall* error) const;

 private:
  std::map<const session::FailedCall*, const session::FailedCall*> causes_;
};

}  // namespace cudadiag::analyse
