// Finds the call that broke a stream capture. The program sees only error 901: later calls on the capturing stream
// return it, and so does the call that ends the capture. The call that broke the capture returned another code from 900
// to 908. It may have run on another thread, because a capture in global mode forbids unsafe calls on all threads.
#pragma once

#include <map>
#include <vector>

#include "session/session.h"

namespace cudadiag::analyse {

class BrokenCaptures {
 public:
  // `errors` must be sorted by serial and outlive this object.
  explicit BrokenCaptures(const std::vector<const session::FailedCall*>& errors);

  // Returns the first call that broke the capture that `error` is about. If none is known, returns the first call that
  // found it broken. Returns `error` itself if it is not about a capture.
  const session::FailedCall* cause(const session::FailedCall* error) const;

 private:
  std::map<const session::FailedCall*, const session::FailedCall*> causes_;
};

}  // namespace cudadiag::analyse
