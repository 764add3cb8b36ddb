// Which call broke a stream capture. The calls that come after it on the capturing stream return 901, and so does the
// capture's end: these are what one sees. The call that broke it returned another code of the family 900 to 908, maybe
// to another thread, because a capture in global mode forbids unsafe calls to all threads.
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

  // The first call that broke the capture that `error` is about, or, if none is known, the first that found it broken;
  // `error` itself if it is about no capture.
  const session::FailedCall* cause(const session::FailedCall* error) const;

 private:
  std::map<const session::FailedCall*, const session::FailedCall*> causes_;
};

}  // namespace cudadiag::analyse
