// Which call broke a stream capture. The calls that come after it on the capturing stream return 901, and so does the
// capture's end: what everybody sees. The call that broke it returned another code of the family 900 to 908, maybe to
// another thread, as a capture in global mode forbids unsafe calls to all of them.
#pragma once

#include <map>
#include <vector>

#include "session/session.h"

namespace cudadiag::analyse {

inline constexpr std::uint32_t kCaptureInvalidated = 901;

class BrokenCaptures {
 public:
  // Errors by serial; they must outlive this.
  explicit BrokenCaptures(const std::vector<const session::FailedCall*>& errors);

  // The first call that broke the capture that `error` is about, or, where none is known, the first that found it
  // broken; `error` itself if it is about no capture.
  const session::FailedCall* cause(const session::FailedCall* error) const;

 private:
  std::map<const session::FailedCall*, const session::FailedCall*> causes_;
};

}  // namespace cudadiag::analyse
