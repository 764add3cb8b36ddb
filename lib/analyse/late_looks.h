// Calls whose error their thread asked for only after it had continued its work. cudaGetLastError then returns the
// error at an innocent place, such as after a launch, which gets the blame.
#pragma once

#include <map>
#include <vector>

#include "analyse/reruns/same_call.h"
#include "session/session.h"

namespace cudadiag::analyse {

class LateLooks {
 public:
  // Errors by serial; they must outlive this.
  LateLooks(const std::vector<const session::Error*>& errors, const SameCall& same);

  // The first call that failed so at its place since the thread had asked before, of `error` that did or that handed
  // its error on; null: it has nothing to do with such a one.
  const session::Error* cause(const session::Error* error) const;

 private:
  std::map<const session::Error*, const session::Error*> causes_;
};

}  // namespace cudadiag::analyse
